#include "tabane/comm/collectives.h"

#include <fmt/format.h>

namespace tabane::comm {

void barrier(Comm& comm, const CollectiveOptions& options) {
  run(comm.group(), Call{.kind = Kind::barrier}, options.algorithm);
}

namespace internal {

void require_parts(Kind kind, std::size_t all, std::size_t part, int ranks) {
  if (all == part * static_cast<std::size_t>(ranks)) return;
  throw core::UsageError(
      fmt::format("{}: {} elements of all are not {} ranks times {} elements of a part",
                  name_of(kind), all, ranks, part));
}

void require_blocks(Kind kind, std::size_t out, std::size_t in, int ranks) {
  if (out == in && out % static_cast<std::size_t>(ranks) == 0) return;
  throw core::UsageError(fmt::format("{}: {} elements out and {} in are not {} equal blocks each",
                                     name_of(kind), out, in, ranks));
}

void require_plain(Operation operation) {
  if (operation == Operation::sum || operation == Operation::min || operation == Operation::max) {
    return;
  }
  throw core::UsageError(
      fmt::format("{} is of a value and its place: call all_reduce_min_loc or all_reduce_max_loc",
                  name_of(operation)));
}

}  // namespace internal
}  // namespace tabane::comm
