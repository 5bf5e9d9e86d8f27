// What a buffer holds whose traffic is measured: values that no hardware can write or read faster
// than others. Zen 4 and 5 write lines of zeros at twice the speed of any other.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tabane/simd/stream.h"

namespace tabane::simd {

// Number i of a sequence of normal numbers in [1, 2): their last 52 bits are those of a multiple of
// the golden ratio, so that neighbours differ in all of them. Source: Weyl's equidistribution.
double generated(std::size_t i);

// a[i] = generated(i).
void generate(std::span<double> a, Streaming streaming = {});

// So many bytes of the same values, as a message of random contents.
std::vector<std::byte> generated_bytes(std::size_t bytes);

}  // namespace tabane::simd
