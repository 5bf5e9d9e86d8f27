// Sets all elements of a vector.
//
// Every element is computed alone, the same way wherever it stands, so a result depends neither on
// the alignment nor on n.
#pragma once

#include <span>

#include "tabane/simd/stream.h"

namespace tabane::simd {

// a[i] = s.
// cost: one store an element. Any alignment.
void set(std::span<double> a, double s, Streaming streaming = {});
void set(std::span<float> a, float s, Streaming streaming = {});

// The plain loop.
void set_reference(std::span<double> a, double s);
void set_reference(std::span<float> a, float s);

}  // namespace tabane::simd
