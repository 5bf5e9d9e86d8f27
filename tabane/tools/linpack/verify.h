// Whether x solves A x = b.
#pragma once

#include <span>
#include <vector>

#include "tabane/comm/grid.h"
#include "tabane/solver/solution.h"
#include "tabane/tools/linpack/local_matrix.h"

namespace tabane::linpack {

struct Verified {
  solver::Check check;
  // What is in doubt in each equation: |A x - b|, and what a rounding of every element of A and b
  // makes, eps (|A| |x| + |b|). Whole on every rank.
  std::vector<double> doubt;
};

// Returns, as the check, the residual as High-Performance Linpack scales it,
//   ||A x - b|| / (eps (||A|| ||x|| + ||b||) n), in maximum norms, eps = 2^-53,
// and its tolerance, 16; the same on all ranks, which all call it. NaN, which does not pass, if
// something is not finite. A and b are made anew, from what they were made from.
//
// Why this suffices: the residual is small if and only if x solves exactly a system whose elements
// differ from A's and b's by about that many roundings (Rigal and Gaches), and no method can
// promise more for elements that are rounded themselves. With partial pivoting it stays near 1
// unless the elements grow in the elimination, and then it shows that. Computed plainly, component
// i is wrong by at most (n + 1) eps (|A| |x| + |b|)_i, so the residual by at most 1 + 1 / n: what
// passes is below 18. How far x is from the true solution is another question: see accuracy.h.
Verified verify(comm::Grid& grid, const Layout& layout, const System& system,
                std::span<const double> x);

}  // namespace tabane::linpack
