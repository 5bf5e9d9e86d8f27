// Kernels that add up one term for each element: sum, sum of squares, dot product.
//
// Order of summation: with L elements in a vector, element i goes to one of 8 L partial sums, i mod
// (8 L) while whole blocks last; the partial sums are added as a tree. The order depends on the
// length and on the target (target.h) only, so a result repeats to the last bit, whatever the
// alignment.
// Error: to first order at most k u S with S = sum |term|, k = ceil(n / (8 L)) + c + log2 L, c = 7
// for sum and 8 for the others, and u = 2^-53 or 2^-24. The plain loop has n in the place of k.
// Vectors of a call have the same length, may have any alignment and may be the same memory.
#pragma once

#include <span>

namespace tabane::simd {

// Returns the sum of x[i]; 0 for an empty x. cost: 1 addition and one load an element.
double sum(std::span<const double> x);
float sum(std::span<const float> x);

// Returns the sum of x[i]²; 0 for an empty x. It is not scaled: squares may overflow or vanish.
// cost: 1 FMA and one load an element.
double sum_of_squares(std::span<const double> x);
float sum_of_squares(std::span<const float> x);

// Returns the sum of x[i] y[i]; 0 for empty vectors. cost: 1 FMA and two loads an element.
double dot(std::span<const double> x, std::span<const double> y);
float dot(std::span<const float> x, std::span<const float> y);

// The same by plain loops: one sum, in the order of the elements.
double sum_reference(std::span<const double> x);
float sum_reference(std::span<const float> x);
double sum_of_squares_reference(std::span<const double> x);
float sum_of_squares_reference(std::span<const float> x);
double dot_reference(std::span<const double> x, std::span<const double> y);
float dot_reference(std::span<const float> x, std::span<const float> y);

}  // namespace tabane::simd
