// Adds two vectors.
//
// Every element is computed alone, the same way wherever it stands, so a result depends neither on
// the alignment nor on n.
#pragma once

#include <span>

#include "tabane/simd/stream.h"

namespace tabane::simd {

// c[i] = a[i] + b[i].
// a, b, c: same length; a or b may be c, no other overlap.
// cost: 1 addition, two loads and one store an element. Any alignment.
void add(std::span<const double> a, std::span<const double> b, std::span<double> c,
         Streaming streaming = {});
void add(std::span<const float> a, std::span<const float> b, std::span<float> c,
         Streaming streaming = {});

// The plain loop.
void add_reference(std::span<const double> a, std::span<const double> b, std::span<double> c);
void add_reference(std::span<const float> a, std::span<const float> b, std::span<float> c);

}  // namespace tabane::simd
