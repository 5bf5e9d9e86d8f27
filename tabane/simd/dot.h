// Dot product of two vectors.
//
// Order of summation: with L elements in a vector, element i goes to one of 8 L partial sums, i mod
// (8 L) while whole blocks last; the partial sums are added as a tree. The order depends on n and
// on the target (target.h) only, so a result repeats to the last bit, whatever the alignment.
// Error: to first order at most k u S with S = sum |x[i] y[i]|, k = ceil(n / (8 L)) + 8 + log2 L
// and u = 2^-53 or 2^-24. The plain loop has n in the place of k.
#pragma once

#include <span>

namespace tabane::simd {

// Returns the sum of x[i] y[i]; 0 for empty vectors.
// x, y: same length, may be the same memory.
// cost: 1 FMA and two loads an element. Any alignment.
double dot(std::span<const double> x, std::span<const double> y);
float dot(std::span<const float> x, std::span<const float> y);

// The plain loop: one sum, in the order of the elements.
double dot_reference(std::span<const double> x, std::span<const double> y);
float dot_reference(std::span<const float> x, std::span<const float> y);

}  // namespace tabane::simd
