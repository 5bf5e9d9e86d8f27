#include "tabane/simd/stream.h"

#include <unistd.h>

#include <algorithm>

#include "tabane/core/error.h"
#include "tabane/core/topology.h"

namespace tabane::simd {
namespace {

// No core has more of a last-level cache for itself; virtual machines state that of several
// sockets.
constexpr std::size_t kMostCacheBytes = std::size_t{128} << 20;

std::size_t last_level_cache_bytes() {
  try {
    const core::Topology topology = core::Topology::detect();
    if (topology.is_this_machine() && !topology.caches().empty()) {
      return topology.caches().back().bytes;
    }
  } catch (const core::Error&) {
    // The system still knows.
  }
  for (const int name : {_SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE}) {
    const long bytes = sysconf(name);
    if (bytes > 0) return static_cast<std::size_t>(bytes);
  }
  return std::size_t{32} << 20;
}

}  // namespace

std::size_t default_stream_bytes() {
  static const std::size_t bytes =
      std::clamp(last_level_cache_bytes() / 2, kSmallestStreamBytes, kMostCacheBytes / 2);
  return bytes;
}

}  // namespace tabane::simd
