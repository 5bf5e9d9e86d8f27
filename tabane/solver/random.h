// Random bits that are a function of a seed and an index, so that they are the same on any rank.
#pragma once

#include <cstdint>

namespace tabane::solver {

// SplitMix64's number of that index: each bit of seed and index changes half of its bits.
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace tabane::solver
