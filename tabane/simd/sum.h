// Sum of the elements of a vector.
//
// Order of summation: with L elements in a vector, element i goes to one of 8 L partial sums, i mod
// (8 L) while whole blocks last; the partial sums are added as a tree. The order depends on n and
// on the target (target.h) only, so a result repeats to the last bit, whatever the alignment.
// Error: to first order at most k u S with S = sum |x[i]|, k = ceil(n / (8 L)) + 7 + log2 L
// and u = 2^-53 or 2^-24. The plain loop has n in the place of k.
#pragma once

#include <span>

namespace tabane::simd {

// Returns the sum of x; 0 for an empty x.
// cost: 1 addition and one load an element. Any alignment.
double sum(std::span<const double> x);
float sum(std::span<const float> x);

// The plain loop: one sum, in the order of the elements.
double sum_reference(std::span<const double> x);
float sum_reference(std::span<const float> x);

}  // namespace tabane::simd
