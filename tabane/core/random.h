// SplitMix64: random numbers that are the same everywhere, unlike those of the standard library's
// distributions. source: Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators,
// 2014.
#pragma once

#include <cstdint>

namespace tabane::core {

// A bijection of 64-bit words without visible pattern: each bit of x changes half of its bits.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

inline constexpr std::uint64_t kSplitMixStep = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio

// Returns the number of this index, from 0, in the sequence of this seed: the same on any rank.
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  return mix(seed + (index + 1) * kSplitMixStep);
}

// The numbers of a seed one after the other.
class SplitMix64 {
 public:
  explicit constexpr SplitMix64(std::uint64_t seed) : state_(seed) {}
  // Streams of different (seed, stream) do not resemble each other.
  constexpr SplitMix64(std::uint64_t seed, std::uint64_t stream)
      : state_(mix(mix(seed) + stream)) {}

  constexpr std::uint64_t next() { return mix(state_ += kSplitMixStep); }
  // Returns one of 0 … n - 1, up to a bias of n / 2^32: the upper half of a product instead of a
  // division. n: 1 … 2^32.
  constexpr std::uint64_t below(std::uint64_t n) { return ((next() >> 32) * n) >> 32; }
  // Returns one of 0 … 1, without 1.
  constexpr double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace tabane::core
