// Adds a multiple of a vector to another.
//
// Every element is computed alone, the same way wherever it stands, so a result depends neither on
// the alignment nor on n.
#pragma once

#include <span>

namespace tabane::simd {

// y[i] += a x[i].
// x, y: same length; x may be y, no other overlap.
// Rounded twice an element on x86 without AVX-512 (the product, then the sum), elsewhere once: to
// first order within u (|product| + |result|), u = 2^-53 or 2^-24. cost: an FMA (a multiplication
// and an addition on x86 without AVX-512), two loads and one store an element. Any alignment.
void axpy(double a, std::span<const double> x, std::span<double> y);
void axpy(float a, std::span<const float> x, std::span<float> y);

// The plain loop.
void axpy_reference(double a, std::span<const double> x, std::span<double> y);
void axpy_reference(float a, std::span<const float> x, std::span<float> y);

}  // namespace tabane::simd
