// Adds a vector and a multiple of another: the triad of the STREAM benchmark.
//
// Every element is computed alone, the same way wherever it stands, so a result depends neither on
// the alignment nor on n.
#pragma once

#include <span>

#include "tabane/simd/stream.h"

namespace tabane::simd {

// a[i] = b[i] + s c[i].
// a, b, c: same length; b or c may be a, no other overlap.
// Rounded twice an element on x86 without AVX-512 (the product, then the sum), elsewhere once: to
// first order within u (|product| + |result|), u = 2^-53 or 2^-24. cost: an FMA (a multiplication
// and an addition on x86 without AVX-512), two loads and one store an element. Any alignment.
void triad(std::span<const double> b, double s, std::span<const double> c, std::span<double> a,
           Streaming streaming = {});
void triad(std::span<const float> b, float s, std::span<const float> c, std::span<float> a,
           Streaming streaming = {});

// The plain loop.
void triad_reference(std::span<const double> b, double s, std::span<const double> c,
                     std::span<double> a);
void triad_reference(std::span<const float> b, float s, std::span<const float> c,
                     std::span<float> a);

}  // namespace tabane::simd
