// A random cycle of pointers through memory: every load needs the result of the one before it, so
// the time of a step is the latency of a load, and no prefetcher can foresee the next address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tabane/core/memory.h"
#include "tabane/core/random.h"
#include "tabane/core/threads.h"
#include "tabane/lab/probe.h"

namespace tabane::lab {

// Fills next with a random permutation of 0 … n-1 that is one single cycle. cost: O(n), one pass of
// random accesses. source: S. Sattolo, An algorithm to generate a random cyclic permutation (1986).
inline void fill_random_cycle(std::span<std::uint32_t> next, std::uint64_t seed) {
  std::iota(next.begin(), next.end(), 0u);
  core::SplitMix64 random(seed);
  for (auto i = static_cast<std::uint32_t>(next.size()); i-- > 1;)
    std::swap(next[i], next[random.below(i)]);
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

// Cycles of pointers over working sets of several sizes in the same memory, kept from pass to pass.

class Chase {
 public:
  // Sizes above this have a place in every line of their own, and are linked once; smaller ones are
  // linked whenever they are asked for, which takes milliseconds.
  static constexpr std::uint64_t kLinkedAnew = std::uint64_t{8} << 20;
  static constexpr std::size_t kMostLarge = 7;  // sizes above it

  // sizes: ascending bytes of whole lines. The memory is touched by the calling thread. throws: as
  // core::Region.
  Chase(std::vector<std::uint64_t> sizes, const core::MemoryOptions& options);

  const std::vector<std::uint64_t>& sizes() const { return sizes_; }
  // Makes the cycle of this size ready and reads the set, at most 256 MiB of it, so that the caches
  // hold what they can; then follows the cycle for a while.
  void prepare(std::size_t size);
  // Follows the cycle of this size from where it was left.
  void follow(std::size_t size, std::uint64_t loads);
  // Where it was left; null before prepare().
  const void* at(std::size_t size) const { return at_[size]; }
  // Bytes in huge pages; null if the system does not report them.
  std::optional<std::size_t> huge_bytes() const { return region_.huge_bytes(); }
  bool mostly_huge() const;
  const core::Region& memory() const { return region_; }

 private:
  core::Region region_;
  std::vector<std::uint64_t> sizes_;
  std::vector<void*> at_;  // null: not linked yet
};

// Seconds that one thread of the pool takes to follow the last size of the chase for so many loads,
// while load(i) runs again and again on the others; `whole` gets the time from the first start to
// the last end. Negative if a thread did not have its CPU all the time. threads: ascending, with
// the follower.
double follow_under_load(Chase& chase, std::uint64_t loads, core::PinnedPool& pool,
                         std::span<const std::size_t> threads, std::size_t follower,
                         const std::function<void(std::size_t)>& load, double* whole = nullptr);

// The chase whose last size represents memory, on huge pages where there are any: that of
// memory.latency, else one made by the calling thread, which must run near the home PU. Its last
// size is ready. throws: NotHere if there is too little memory to leave the caches.
Chase& memory_chase(ProbeContext& context);

// The detail of memory.latency.dram that says what a load takes at half of what is stated of the
// last cache.
inline constexpr const char* kHalfOfLastCacheNs = "half_of_last_cache_ns";

// Where the chases of memory.latency are kept.
inline constexpr const char* kSmallChase = "chase.small";
inline constexpr const char* kHugeChase = "chase.huge";

}  // namespace tabane::lab
