// Multiplies a vector by a number.
//
// Every element is computed alone, the same way wherever it stands, so a result depends neither on
// the alignment nor on n.
#pragma once

#include <span>

#include "tabane/simd/stream.h"

namespace tabane::simd {

// b[i] = s c[i].
// b, c: same length; c may be b, no other overlap.
// cost: 1 multiplication, one load and one store an element. Any alignment.
void scale(double s, std::span<const double> c, std::span<double> b, Streaming streaming = {});
void scale(float s, std::span<const float> c, std::span<float> b, Streaming streaming = {});

// The plain loop.
void scale_reference(double s, std::span<const double> c, std::span<double> b);
void scale_reference(float s, std::span<const float> c, std::span<float> b);

}  // namespace tabane::simd
