// Under an MPI launcher: where MPI libraries have mistakes and limits of their own. Exits with 1,
// and says why, if one is seen.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tabane/comm/collective/mismatches_test.h"
#include "tabane/comm/collectives.h"
#include "tabane/comm/ends_test.h"
#include "tabane/comm/launch.h"

namespace tabane::comm {
namespace {

template <class... Values>
void require(bool holds, fmt::format_string<Values...> what, Values&&... values) {
  if (!holds) throw core::Error(fmt::format(what, std::forward<Values>(values)...));
}

// Each rank has another of these at each place.
template <class T>
std::vector<T> numbers_of(int rank, int ranks) {
  using Limits = std::numeric_limits<T>;
  std::array<T, 8> all{Limits::max(),    static_cast<T>(Limits::max() / 2 + 1), 0, 1,
                       Limits::lowest(), static_cast<T>(Limits::max() / 2),     2, 3};
  if constexpr (std::is_floating_point_v<T>) {
    all[5] = -T{0};
    if (ranks == 2) all[6] = Limits::quiet_NaN();  // of more, the order would count
    all[7] = -Limits::infinity();
  }
  std::vector<T> own;  // each meets each
  for (int i = 0; i < 64; ++i) {
    own.push_back(all[static_cast<std::size_t>(rank % 2 == 0 ? i % 8 : (i / 8 + rank / 2) % 8)]);
  }
  return own;
}

template <class T>
bool are_same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a == b ? std::signbit(a) == std::signbit(b) : a != a && b != b;
  }
  return a == b;
}

template <class T>
void least_and_greatest_of(Comm& comm) {
  for (const Operation operation : {Operation::min, Operation::max}) {
    std::vector<T> expected = numbers_of<T>(0, comm.size());
    for (int rank = 1; rank < comm.size(); ++rank) {
      const std::vector<T> other = numbers_of<T>(rank, comm.size());
      combine_values<T>(operation).apply(reinterpret_cast<std::byte*>(expected.data()),
                                         reinterpret_cast<const std::byte*>(other.data()),
                                         expected.size());
    }
    const std::string name = fmt::format("{} of {}", operation == Operation::min ? "min" : "max",
                                         name_of(type_code<T>()));
    for (const std::string algorithm : {"", "native"}) {
      if (algorithm == "native" && std::is_floating_point_v<T>) continue;  // it refuses them
      std::vector<T> seen = numbers_of<T>(comm.rank(), comm.size());
      all_reduce(comm, seen, operation, {.algorithm = algorithm});
      require(std::ranges::equal(seen, expected, are_same<T>), "all_reduce: {} is wrong", name);
      const int root = comm.size() - 1;
      seen = numbers_of<T>(comm.rank(), comm.size());
      reduce(comm, seen, operation, root, {.algorithm = algorithm});
      require(comm.rank() != root || std::ranges::equal(seen, expected, are_same<T>),
              "reduce: {} is wrong", name);
    }
  }
}

void least_and_greatest(Comm& comm) {
  least_and_greatest_of<std::int8_t>(comm);
  least_and_greatest_of<std::int16_t>(comm);
  least_and_greatest_of<std::int32_t>(comm);
  least_and_greatest_of<std::int64_t>(comm);
  least_and_greatest_of<std::uint8_t>(comm);
  least_and_greatest_of<std::uint16_t>(comm);
  least_and_greatest_of<std::uint32_t>(comm);
  least_and_greatest_of<std::uint64_t>(comm);
  least_and_greatest_of<float>(comm);
  least_and_greatest_of<double>(comm);
  least_and_greatest_of<long double>(comm);
}

// More than MPI may be given in one call. CORNERS_BYTES, with which this can be tried beyond what
// MPI counts, says how much; without it the limit should be set lower: see most_bytes().
std::size_t many_bytes() { return from_environment("CORNERS_BYTES", 45'006); }

std::vector<char> letters(std::size_t size, int key) {
  std::vector<char> all(size);
  for (std::size_t i = 0; i < size; ++i) {
    all[i] = static_cast<char>((i * 2'654'435'761U >> 7) + static_cast<std::size_t>(key) * 31);
  }
  return all;
}

void large_messages(Comm& comm) {
  if (comm.rank() > 1 || comm.size() == 1) return;
  const std::vector<char> large = letters(many_bytes(), 1);
  if (comm.rank() == 0) {
    comm.send(1, large);
    comm.isend(1, large).wait();
    return;
  }
  {
    std::vector<char> into(large.size());
    comm.irecv(0, into).wait();
    require(into == large, "a large message is another");
  }
  require(std::ranges::equal(comm.recv_view<char>(0), large), "a large view is another");
}

void large_collectives(Comm& comm) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const std::size_t most = many_bytes(), part_size = most / ranks;
  {
    std::vector<char> values = comm.rank() == 0 ? letters(most, 2) : std::vector<char>(most);
    broadcast(comm, values, 0);
    require(values == letters(most, 2), "a large broadcast is another");
  }
  for (const std::string algorithm : {"", "native"}) {
    std::vector<std::uint32_t> numbers(most / 4, static_cast<std::uint32_t>(comm.rank() + 1));
    all_reduce(comm, numbers, Operation::sum, {.algorithm = algorithm});
    const auto sum = static_cast<std::uint32_t>(ranks * (ranks + 1) / 2);
    require(std::ranges::count(numbers, sum) == std::ssize(numbers), "a large sum is another");
  }
  const std::vector<char> whole = letters(part_size * ranks, 3);
  std::vector<char> part(part_size), all(comm.rank() == 0 ? whole.size() : 0);
  scatter(comm, comm.rank() == 0 ? whole : all, part, 0);
  gather(comm, part, all, 0);
  require(comm.rank() != 0 || all == whole, "large parts are others");
  all.resize(whole.size());
  std::ranges::fill(all, 0);
  all_gather(comm, part, all);
  require(all == whole, "large gathered parts are others");
  std::vector<char> back(whole.size());
  all_to_all(comm, whole, all);
  all_to_all(comm, all, back);
  require(back == whole, "large exchanged parts are others");
}

// Both MPIs that are tried have the documented ones.
void tags_at_their_limit(Comm& comm) {
  require(comm.most_tag() == kMostTag, "tags end at {}", comm.most_tag());
  const int to = (comm.rank() + 1) % comm.size(),
            from = (comm.rank() + comm.size() - 1) % comm.size();
  const std::vector<int> large(5'000, comm.rank());
  for (const int tag : {kMostTag - 1, kMostTag}) {
    comm.send(to, tag, tag);
    const Request sent = comm.isend(to, large, tag);
    require(comm.recv<int>(from, tag) == tag, "tag {} brought another message", tag);
    std::vector<int> into(5'000);
    require(comm.recv(from, into, any_tag).tag == tag, "tag {} came as another", tag);
    require(into.front() == from, "tag {} brought another large message", tag);
  }
  try {
    comm.send(to, 1, kMostTag + 1);
  } catch (const core::UsageError&) {
    return;
  }
  require(false, "a tag beyond the limit was sent");
}

int run_all() {
  try {
    launch({.transport = TransportKind::mpi}, [](Comm& comm) {
      least_and_greatest(comm);
      tags_at_their_limit(comm);
      large_messages(comm);
      large_collectives(comm);
    });
  } catch (const std::exception& error) {
    fmt::print(stderr, "corners_test: {}\n", error.what());
    return 1;
  }
  return 0;
}

// Whether this rank gets what it must of a call of four values each.
bool is_right(Comm& comm, Kind kind) {
  const int ranks = comm.size(), own = comm.rank() + 1;
  const bool is_root = comm.rank() == 0;
  const std::vector<int> sums(4, ranks * (ranks + 1) / 2);
  std::vector<int> part(4, own), blocks(4 * static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<int>(i / 4) + 1;
  std::vector<int> all(blocks.size(), own), in(blocks.size());
  switch (kind) {
    case Kind::broadcast:
      broadcast(comm, part, 0);
      return part == std::vector(4, 1);
    case Kind::reduce:
      reduce(comm, part, Operation::sum, 0);
      return !is_root || part == sums;
    case Kind::all_reduce:
      all_reduce(comm, part, Operation::sum);
      return part == sums;
    case Kind::scatter:
      std::ranges::fill(part, 0);
      scatter(comm, blocks, part, 0);
      return part == std::vector(4, own);
    case Kind::gather:
      gather(comm, part, all, 0);
      return !is_root || all == blocks;
    case Kind::all_gather:
      all_gather(comm, part, all);
      return all == blocks;
    default:
      all_to_all(comm, all, in);
      return in == blocks;
  }
}

// As where a vector has its size on one rank only, and whoever gets its values has no room. MPICH
// says so of broadcasts only; but no later call may take what was sent in this one.
int empty_on_some_ranks(std::string_view name) {
  try {
    launch({.transport = TransportKind::mpi}, [&](Comm& comm) {
      for (const Kind kind : mismatches::all_kinds()) {
        if (name != name_of(kind)) continue;
        const int full = kind == Kind::gather || kind == Kind::reduce ? 1 : 0;
        mismatches::call(comm, kind, 0, comm.rank() == full ? 4 : 0);
        const bool right = is_right(comm, kind);
        fmt::print("{}\n", right ? "the next is right" : "wrong: it is of the call before");
      }
      barrier(comm);
    });
  } catch (const core::Error& error) {
    fmt::print("told of it: {}\n", error.what());
  }
  return 0;
}

}  // namespace
}  // namespace tabane::comm

int main(int count, char** words) {
  const bool empty = count > 2 && std::string_view(words[count - 2]) == "empty";
  return empty ? tabane::comm::empty_on_some_ranks(words[count - 1]) : tabane::comm::run_all();
}
