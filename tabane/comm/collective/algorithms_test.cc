// Every algorithm with all sizes, roots and numbers of ranks.
#include <algorithm>

#include "tabane/comm/collective/choice.h"
#include "tabane/comm/collective/collective_checks_test.h"

namespace tabane::comm {
namespace {

// Calls an algorithm with each root, three times in a row; without a root, as often as there are
// operations. Long values do not need each root. Returns how many calls it has served.
template <class T>
unsigned check_sizes(Comm& comm, const Algorithm& algorithm,
                     const std::vector<std::size_t>& counts) {
  constexpr int kOperations = 7;
  Delays delay(comm.rank(), static_cast<unsigned>(comm.size()));
  const bool few = kAreMpi && comm.size() > 3;
  unsigned number = 0;
  for (const std::size_t count : counts) {
    if (!serves(comm, algorithm, sizeof(T), count)) continue;
    const bool each_root = !few && count * sizeof(T) <= 4096;
    const int step = each_root ? 1 : std::max(comm.size() - 1, 1);
    const int end = has_root(algorithm.kind) ? comm.size() : 1;
    const int repeats = few ? 1 : has_root(algorithm.kind) ? 3 : kOperations;
    for (int root = 0; root < end; root += step) {
      for (int repeat = 0; repeat < repeats; ++repeat) {
        delay();
        check_call<T>(comm, algorithm, count, root, ++number);
      }
    }
  }
  return number;
}

void check_algorithm(Comm& comm, const Algorithm& algorithm) {
  const unsigned served =
      check_sizes<std::uint8_t>(comm, algorithm, {0, 1, 3, 48, 49, 4096, 100000}) +
      check_sizes<std::int32_t>(comm, algorithm, {12, 13, 25000}) +
      check_sizes<double>(comm, algorithm, {1, 6, 7, 511, 12500});
  Transport& transport = comm.transport();
  const NativeCollectives* const own = transport.collectives();
  const bool can = algorithm.name == "native" ? own != nullptr && own->offers(algorithm.kind)
                                              : transport.memory() != nullptr;
  require(served > 0 || !can);
}

#if defined(TABANE_RANKS_ARE_THREADS)  // which makes each of them take ten times as long
constexpr auto kRanks = {2, 3, 6};
#else
constexpr auto kRanks = {1, 2, 3, 4, 5, 6, 7, 8, 9};
#endif

TEST(Algorithms, ServeEverySizeAndRoot) {
  run_each(kRanks, [](Comm& comm) {
    for (const Algorithm& algorithm : algorithms()) {
      try {
        check_algorithm(comm, algorithm);
      } catch (const std::exception& error) {
        throw core::Error(std::string(name_of(algorithm.kind)) + " " + std::string(algorithm.name) +
                          ": " + error.what());
      }
    }
  });
}

// A struct that is larger than a line and no power of two.
struct Large {
  std::array<std::uint8_t, 75> bytes;
  bool operator==(const Large&) const = default;
};

// What one collective leaves behind must not disturb the next: all in any order, without a barrier
// between, on ranks that are late now and then.
TEST(Mixed, SequencesOfAllAlgorithms) {
  run_each({2, 3, 4, 7}, [](Comm& comm) {
    std::minstd_rand same(static_cast<unsigned>(comm.size()));
    Delays delay(comm.rank(), 3);
    const unsigned calls = kAreMpi && comm.size() > 3 ? 300 : 1500;
    for (unsigned number = 1; number <= calls; ++number) {
      const Algorithm& algorithm = algorithms()[same() % algorithms().size()];
      const std::size_t count = same() % 4 == 0 ? same() % 9000 : same() % 49;
      const int root = static_cast<int>(same() % static_cast<unsigned>(comm.size()));
      if (!serves(comm, algorithm, 1, count)) continue;
      delay();
      check_call<std::uint8_t>(comm, algorithm, count, root, number);
    }
  });
}

TEST(Mixed, SequencesInGroupsOfTheRanks) {
  run_each({2, 6}, [](Comm& world) {
    Comm half = *world.split(world.rank() % 2);
    std::minstd_rand same(7);
    for (unsigned number = 1; number <= 300; ++number) {
      Comm& comm = number % 3 == 0 ? world : half;
      const Algorithm& algorithm = algorithms()[same() % algorithms().size()];
      const std::size_t count = same() % 200;
      const int root = static_cast<int>(same() % 5040) % comm.size();
      if (!serves(comm, algorithm, 1, count)) continue;
      check_call<std::uint8_t>(comm, algorithm, count, root, number);
    }
  });
}

TEST(Mixed, StructsOfAnySize) {
  run(3, [](Comm& comm) {
    const auto large = [](int rank, std::size_t i) {
      Large one;
      one.bytes.fill(static_cast<std::uint8_t>(10 * i + static_cast<std::size_t>(rank)));
      return one;
    };
    for (const Algorithm& algorithm : algorithms()) {
      if (algorithm.kind != Kind::all_gather && algorithm.kind != Kind::scatter) continue;
      if (!serves(comm, algorithm, sizeof(Large), 5)) continue;
      std::vector<Large> part(5), all(15), expected(15);
      for (std::size_t i = 0; i < 15; ++i) expected[i] = large(static_cast<int>(i % 3), i / 3);
      for (std::size_t i = 0; i < 5; ++i) part[i] = large(comm.rank(), i);
      if (algorithm.kind == Kind::all_gather) {
        all_gather(comm, part, all, Layout::cyclic, {algorithm.name});
        require(all == expected);
      } else {
        std::vector<Large> got(5);
        scatter(comm, expected, got, 1, Layout::cyclic, {algorithm.name});
        require(got == part);
      }
    }
  });
}

}  // namespace
}  // namespace tabane::comm
