// Sum of the squares of the elements of a vector.
//
// Order of summation: with L elements in a vector, element i goes to one of 8 L partial sums, i mod
// (8 L) while whole blocks last; the partial sums are added as a tree. The order depends on n and
// on the target (target.h) only, so a result repeats to the last bit, whatever the alignment.
// Error: to first order at most k u S with S the result itself, k = ceil(n / (8 L)) + 8 + log2 L
// and u = 2^-53 or 2^-24. The plain loop has n in the place of k.
#pragma once

#include <span>

namespace tabane::simd {

// Returns the sum of x[i]²; 0 for an empty x. It is not scaled: squares may overflow or vanish.
// cost: 1 FMA and one load an element. Any alignment.
double sum_of_squares(std::span<const double> x);
float sum_of_squares(std::span<const float> x);

// The plain loop: one sum, in the order of the elements.
double sum_of_squares_reference(std::span<const double> x);
float sum_of_squares_reference(std::span<const float> x);

}  // namespace tabane::simd
