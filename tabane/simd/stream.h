// When kernels write past the caches.
#pragma once

#include <cstddef>

namespace tabane::simd {

// A destination smaller than this always goes through the caches unless the caller says otherwise.
inline constexpr std::size_t kSmallestStreamBytes = std::size_t{1} << 20;

// Half the last-level cache, 64 MiB at most: a larger destination would push out what the program
// still needs, and none of it would be left in the cache for whoever reads it from its beginning.
// Read once from the topology of this machine, else from the system, else half of 32 MiB. cost: a
// load after the first call.
std::size_t default_stream_bytes();

// How a kernel writes a destination of some size.
struct Streaming {
  // Destinations of at least this many bytes are streamed; kDefault asks default_stream_bytes(). A
  // team whose workers have a part of a large vector each passes always() or never().
  std::size_t from_bytes = kDefault;

  static constexpr std::size_t kDefault = ~std::size_t{0} - 1;
  static constexpr Streaming always() { return {0}; }
  static constexpr Streaming never() { return {~std::size_t{0}}; }

  bool applies(std::size_t bytes) const {
    if (from_bytes != kDefault) return bytes >= from_bytes;
    return bytes >= kSmallestStreamBytes && bytes >= default_stream_bytes();
  }
};

}  // namespace tabane::simd
