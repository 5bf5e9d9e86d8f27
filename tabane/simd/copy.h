// Copies a vector.
//
// Every element is computed alone, the same way wherever it stands, so a result depends neither on
// the alignment nor on n.
#pragma once

#include <span>

#include "tabane/simd/stream.h"

namespace tabane::simd {

// c[i] = a[i]. Call it qualified: a span argument brings std::copy into an unqualified call.
// a, c: same length; a may be c, no other overlap.
// cost: one load and one store an element. Any alignment.
void copy(std::span<const double> a, std::span<double> c, Streaming streaming = {});
void copy(std::span<const float> a, std::span<float> c, Streaming streaming = {});

// The plain loop.
void copy_reference(std::span<const double> a, std::span<double> c);
void copy_reference(std::span<const float> a, std::span<float> c);

}  // namespace tabane::simd
