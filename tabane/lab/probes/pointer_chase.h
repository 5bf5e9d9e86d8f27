// A random cycle of pointers through memory: every load needs the result of the one before it, so
// the time of a step is the latency of a load, and no prefetcher can foresee the next address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "tabane/core/memory.h"

namespace tabane::lab {

// A small generator (splitmix64), so that the same seed gives the same cycle everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t operator()() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound) up to a bias of bound / 2^32.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(((*this)() >> 32) * bound >> 32);
  }

 private:
  std::uint64_t state_;
};

// Fills next with a random permutation of 0 … n-1 that is one single cycle. cost: O(n), one pass of
// random accesses. source: S. Sattolo, An algorithm to generate a random cyclic permutation (1986).
inline void fill_random_cycle(std::span<std::uint32_t> next, std::uint64_t seed) {
  std::iota(next.begin(), next.end(), 0u);
  Random random(seed);
  for (auto i = static_cast<std::uint32_t>(next.size()); i-- > 1;)
    std::swap(next[i], next[random.below(i)]);
}

inline std::vector<std::uint32_t> random_cycle(std::uint32_t n, std::uint64_t seed) {
  std::vector<std::uint32_t> next(n);
  fill_random_cycle(next, seed);
  return next;
}

// Writes one pointer into each whole line of memory, all of them one random cycle; returns its
// first element. memory: aligned to line_bytes, at least one line, fewer than 2^32 lines.
inline void* link_random_cycle(std::span<std::byte> memory, std::size_t line_bytes,
                               std::uint64_t seed = 1) {
  const std::size_t lines = memory.size() / line_bytes;
  // On huge pages: on small ones every access of the shuffle would look for its page, too.
  core::MemoryOptions options;
  options.pages = core::PageSize::huge;
  const core::Region scratch(lines * sizeof(std::uint32_t), options);
  const std::span<std::uint32_t> next = scratch.as<std::uint32_t>().first(lines);
  fill_random_cycle(next, seed);
  for (std::size_t i = 0; i < lines; ++i)
    *reinterpret_cast<void**>(memory.data() + i * line_bytes) =
        memory.data() + next[i] * line_bytes;
  return memory.data();
}

// Follows the pointers for `steps` loads and returns where it arrived.
inline void* chase(void* at, std::uint64_t steps) {
  for (; steps >= 8; steps -= 8) {
    for (int i = 0; i < 8; ++i) at = *static_cast<void* volatile*>(at);
  }
  for (; steps > 0; --steps) at = *static_cast<void* volatile*>(at);
  return at;
}

}  // namespace tabane::lab
