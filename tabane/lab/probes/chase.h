// Cycles of pointers over working sets of several sizes in the same memory, kept from pass to pass.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tabane/core/memory.h"
#include "tabane/core/pinned_pool.h"
#include "tabane/lab/probe.h"

namespace tabane::lab {

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
  // Bytes in huge pages; null if the system does not tell.
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

// The chase whose last size stands for memory, on huge pages where there are any: that of
// memory.latency, else one made by the calling thread, which must run near the home PU. Its last
// size is ready. throws: NotHere if there is too little memory to leave the caches.
Chase& memory_chase(ProbeContext& context);

// Where the chases of memory.latency are kept.
inline constexpr const char* kSmallChase = "chase.small";
inline constexpr const char* kHugeChase = "chase.huge";

}  // namespace tabane::lab
