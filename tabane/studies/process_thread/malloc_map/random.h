// A small generator of reproducible random numbers whose state is one word.
#pragma once

#include <cstdint>

namespace tabane::malloc_map {

// A bijection of 64-bit words without visible pattern. source: Steele, Lea and Flood, Fast
// Splittable Pseudorandom Number Generators, 2014 (the finaliser of SplitMix).
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class Random {
 public:
  // Streams of different (seed, stream) do not resemble each other.
  Random(std::uint64_t seed, std::uint64_t stream) : state_(mix(mix(seed) + stream)) {}

  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15); }
  // 0 … n - 1; n: 1 … 2^32. The upper half of a product instead of a division.
  std::uint64_t below(std::uint64_t n) { return ((next() >> 32) * n) >> 32; }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }  // 0 … 1, without 1

 private:
  std::uint64_t state_;
};

}  // namespace tabane::malloc_map
