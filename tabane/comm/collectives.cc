#include "tabane/comm/collectives.h"

#include <fmt/format.h>

#include <numeric>

namespace tabane::comm {

void barrier(Comm& comm, const CollectiveOptions& options) {
  Call call{.kind = Kind::barrier};
  run(comm.group(), call, options.algorithm);
}

namespace internal {

void require_parts(Kind kind, std::size_t all, std::size_t part, int ranks) {
  if (all == part * static_cast<std::size_t>(ranks)) return;
  throw core::UsageError(fmt::format("{}: {} values are not {} ranks times a block of {}",
                                     name_of(kind), all, ranks, part));
}

void require_blocks(Kind kind, std::size_t out, std::size_t in, int ranks) {
  if (out == in && out % static_cast<std::size_t>(ranks) == 0) return;
  throw core::UsageError(fmt::format("{}: {} elements out and {} in are not {} equal blocks each",
                                     name_of(kind), out, in, ranks));
}

void require_counts(Kind kind, std::size_t all, std::span<const std::size_t> part_bytes,
                    const OwnPart& own) {
  if (part_bytes.size() != static_cast<std::size_t>(own.ranks)) {
    throw core::UsageError(
        fmt::format("{}: {} counts for {} ranks", name_of(kind), part_bytes.size(), own.ranks));
  }
  const std::size_t bytes = std::accumulate(part_bytes.begin(), part_bytes.end(), std::size_t{0});
  if (all * own.element_bytes != bytes) {
    throw core::UsageError(fmt::format("{}: {} elements of all, but the counts sum up to {}",
                                       name_of(kind), all, bytes / own.element_bytes));
  }
  const std::size_t counted = part_bytes[static_cast<std::size_t>(own.rank)] / own.element_bytes;
  if (own.count != counted) {
    throw core::UsageError(fmt::format("{}: {} elements of rank {}'s part, but its count is {}",
                                       name_of(kind), own.count, own.rank, counted));
  }
}

void require_result(std::size_t in, std::size_t out) {
  if (in == out) return;
  throw core::UsageError(
      fmt::format("reduce: {} elements in and {} for the result on the root", in, out));
}

void require_indices(std::size_t values, std::size_t indices) {
  if (indices == 0 || indices == values) return;
  throw core::UsageError(fmt::format("{} indices of {} values", indices, values));
}

std::vector<std::size_t> bytes_of_parts(std::span<const std::size_t> counts,
                                        std::size_t element_bytes) {
  std::vector<std::size_t> bytes(counts.begin(), counts.end());
  for (std::size_t& one : bytes) one *= element_bytes;
  return bytes;
}

}  // namespace internal
}  // namespace tabane::comm
