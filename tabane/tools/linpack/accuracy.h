// How far x is from the true solution.
#pragma once

#include <span>

#include "tabane/tools/linpack/factors.h"

namespace tabane::linpack {

// Returns an estimate of the largest error of an element of x over the largest |x|: the largest
// element of |A^-1| doubt over the largest |x|, which is LAPACK's forward error bound (DGERFS),
// estimated by Hager's and Higham's method. Infinite where numbers overflow, as with a pivot near
// 0. All ranks call it.
//
// Why not a condition number: x - A^-1 b = A^-1 (A x - b), so with doubt = |A x - b| this bounds
// the error of this very x, however the elimination went. The rounding of A and b that is doubted,
// too, makes it a condition number after Skeel: it warns where A is nearly singular but A x - b
// happens to be small. Multiplying an equation by a number changes neither |A^-1| doubt nor x, so
// bad scaling alone never alarms. A condition of A itself would alarm then, and that of A with its
// rows and columns scaled would miss an x that is spoiled by a bad scaling of the rows, or that
// hardly depends on a column.
//
// x, doubt: whole, the same on all ranks, and of verify(). cost: 10 solves at most, so 20 n^2
// operations, outside of what is timed.
double estimate_error(Factors& factors, std::span<const double> x, std::span<const double> doubt);

}  // namespace tabane::linpack
