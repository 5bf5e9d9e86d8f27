// Under an MPI launcher: where MPI libraries have mistakes and limits of their own.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "tabane/comm/collective/mismatches_test.h"
#include "tabane/comm/ends_test.h"
#include "tabane/comm/runners_test.h"
#include "tabane/comm/transport/mpi_module.h"
#include "tabane/core/text_of_error_test.h"

namespace tabane::comm {
namespace {

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
    for (const std::string algorithm : {"", "native"}) {
      if (algorithm == "native" && std::is_floating_point_v<T>) continue;  // it refuses them
      std::vector<T> seen = numbers_of<T>(comm.rank(), comm.size());
      all_reduce(comm, seen, operation, {.algorithm = algorithm});
      require(std::ranges::equal(seen, expected, are_same<T>));
      const int root = comm.size() - 1;
      seen = numbers_of<T>(comm.rank(), comm.size());
      reduce(comm, seen, operation, root, {.algorithm = algorithm});
      require(comm.rank() != root || std::ranges::equal(seen, expected, are_same<T>));
    }
  }
}

template <class... Types>
void least_and_greatest_of_all(Comm& comm) {
  (least_and_greatest_of<Types>(comm), ...);
}

TEST(MpiCorners, LeastAndGreatestOfAllTypes) {
  run_all_of_mpi(least_and_greatest_of_all<std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                                           std::uint8_t, std::uint16_t, std::uint32_t,
                                           std::uint64_t, float, double, long double>);
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

TEST(MpiCorners, LargeMessages) {
  run_all_of_mpi([](Comm& comm) {
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
      require(into == large);
    }
    require(std::ranges::equal(comm.recv_view<char>(0), large));
  });
}

TEST(MpiCorners, LargeCollectives) {
  run_all_of_mpi([](Comm& comm) {
    const auto ranks = static_cast<std::size_t>(comm.size());
    const std::size_t most = many_bytes(), part_size = most / ranks;
    {
      std::vector<char> values = comm.rank() == 0 ? letters(most, 2) : std::vector<char>(most);
      broadcast(comm, values, 0);
      require(values == letters(most, 2));
    }
    for (const std::string algorithm : {"", "native"}) {
      std::vector<std::uint32_t> numbers(most / 4, static_cast<std::uint32_t>(comm.rank() + 1));
      all_reduce(comm, numbers, Operation::sum, {.algorithm = algorithm});
      const auto sum = static_cast<std::uint32_t>(ranks * (ranks + 1) / 2);
      require(std::ranges::count(numbers, sum) == std::ssize(numbers));
    }
    const std::vector<char> whole = letters(part_size * ranks, 3);
    std::vector<char> part(part_size), all(comm.rank() == 0 ? whole.size() : 0);
    scatter(comm, comm.rank() == 0 ? whole : all, part, 0);
    gather(comm, part, all, 0);
    require(comm.rank() != 0 || all == whole);
    all.resize(whole.size());
    std::ranges::fill(all, 0);
    all_gather(comm, part, all);
    require(all == whole);
    std::vector<char> back(whole.size());
    all_to_all(comm, whole, all);
    all_to_all(comm, all, back);
    require(back == whole);
  });
}

// Both MPIs that are tried have the documented ones.
TEST(MpiCorners, TagsAtTheirLimit) {
  run_all_of_mpi([](Comm& comm) {
    require_equal(comm.most_tag(), kMostTag);
    const int to = (comm.rank() + 1) % comm.size(),
              from = (comm.rank() + comm.size() - 1) % comm.size();
    const std::vector<int> large(5'000, comm.rank());
    for (const int tag : {kMostTag - 1, kMostTag}) {
      comm.send(to, tag, tag);
      const Request sent = comm.isend(to, large, tag);
      require_equal(comm.recv<int>(from, tag), tag);
      std::vector<int> into(5'000);
      require_equal(comm.recv(from, into, any_tag).tag, tag);
      require_equal(into.front(), from);
    }
    error_of<core::UsageError>([&] { comm.send(to, 1, kMostTag + 1); });
  });
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
TEST(MpiCorners, CallsThatAreEmptyOnSomeRanksAreToldOrHarmless) {
  const bool says_all = mpi_launcher()->modules.front().find("mpich") == std::string::npos;
  for (const Kind kind : mismatches::all_kinds()) {
    if (kind == Kind::barrier || kind > Kind::all_to_all) continue;
    SCOPED_TRACE(name_of(kind));
    bool alone = false, right = true;
    const std::string text = core::text_of_error([&] {
      run_all_of_mpi([&](Comm& comm) {
        alone = comm.size() == 1;
        if (alone) return;
        const int full = kind == Kind::gather || kind == Kind::reduce ? 1 : 0;
        mismatches::call(comm, kind, 0, comm.rank() == full ? 4 : 0);
        right = is_right(comm, kind);
        barrier(comm);
      });
    });
    if (alone) return;
    EXPECT_TRUE(right) << "it is of the call before";
    bool told = false;
    run_all_of_mpi([&](Comm& comm) { told = all_reduce(comm, !text.empty(), Operation::max); });
    EXPECT_TRUE(told || (!says_all && kind != Kind::broadcast));
  }
}

}  // namespace
}  // namespace tabane::comm
