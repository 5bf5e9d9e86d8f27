#include "tabane/comm/collectives.h"

#include <array>
#include <limits>
#include <string>

#include "tabane/comm/collective/schedule.h"
#include "tabane/core/cgroup.h"
#include "tabane/core/system_files.h"

namespace tabane::comm {

void barrier(Comm& comm, const CollectiveOptions& options) {
  Call call{.kind = Kind::barrier};
  run(comm.group(), call, options.algorithm);
}

namespace internal {

void require_parts(Kind kind, std::size_t all, std::size_t part, int ranks) {
  if (all == part * static_cast<std::size_t>(ranks)) return;
  throw core::UsageError("{}: {} values are not {} ranks times a block of {}", name_of(kind), all,
                         ranks, part);
}

void require_blocks(Kind kind, std::size_t out, std::size_t in, int ranks) {
  if (out == in && out % static_cast<std::size_t>(ranks) == 0) return;
  throw core::UsageError("{}: {} elements out and {} in are not {} equal blocks each",
                         name_of(kind), out, in, ranks);
}

std::vector<std::size_t> bytes_of_parts(Kind kind, std::size_t all,
                                        std::span<const std::size_t> counts, const OwnPart& own) {
  if (counts.size() != static_cast<std::size_t>(own.ranks)) {
    throw core::UsageError("{}: {} counts for {} ranks", name_of(kind), counts.size(), own.ranks);
  }
  const std::size_t sum = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  if (all != sum) {
    throw core::UsageError("{}: {} elements of all, but the counts sum up to {}", name_of(kind),
                           all, sum);
  }
  const std::size_t counted = counts[static_cast<std::size_t>(own.rank)];
  if (own.count != counted) {
    throw core::UsageError("{}: {} elements of rank {}'s part, but its count is {}", name_of(kind),
                           own.count, own.rank, counted);
  }
  std::vector<std::size_t> bytes(counts.begin(), counts.end());
  for (std::size_t& one : bytes) one *= own.element_bytes;
  return bytes;
}

void require_result(std::size_t in, std::size_t out) {
  if (in == out) return;
  throw core::UsageError("reduce: {} elements in and {} for the result on the root", in, out);
}

void require_indices(std::size_t values, std::size_t indices) {
  if (indices == 0 || indices == values) return;
  throw core::UsageError("{} indices of {} values", indices, values);
}

Request begin(Comm& comm, Call call) {
  require_root(comm.group(), call);
  comm.transport().check_alive();
  call.number = comm.group().next_call();
  return {Schedule::begin(comm.group().shared_from_this(), call), 1, comm.rank()};
}

}  // namespace internal

Request ibarrier(Comm& comm) { return internal::begin(comm, Call{.kind = Kind::barrier}); }

double usable_memory() {
  return core::usable_memory_bytes().value_or(std::numeric_limits<double>::infinity());
}

double usable_memory_of_all(Comm& comm) {
  std::array<char, 64> own{};
  const std::string name = core::machine_name();
  std::copy_n(name.begin(), std::min(name.size(), own.size()), own.begin());
  std::vector<char> names(own.size() * static_cast<std::size_t>(comm.size()));
  all_gather(comm, own, names);
  int here = 0;
  for (auto at = names.begin(); at != names.end(); at += own.size()) {
    here += std::equal(own.begin(), own.end(), at) ? 1 : 0;
  }
  return comm.size() * all_reduce(comm, usable_memory() / here, Operation::min);
}

}  // namespace tabane::comm
