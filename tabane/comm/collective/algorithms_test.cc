// Every algorithm with all sizes, roots and numbers of ranks.
#include <sys/mman.h>

#include <atomic>
#include <new>

#include "tabane/comm/collective/choice.h"
#include "tabane/comm/collective/collective_checks_test.h"

namespace tabane::comm {
namespace {

struct Case {
  Runner runner;
  const Algorithm* algorithm;
};
std::ostream& operator<<(std::ostream& out, const Case& one) {
  return out << one.runner.name << ' ' << name_of(one.algorithm->kind) << ' '
             << one.algorithm->name;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Runner& runner : kRunners) {
    for (const Algorithm& algorithm : algorithms()) cases.push_back({runner, &algorithm});
  }
  return cases;
}

class Algorithms : public testing::TestWithParam<Case> {
 protected:
  // Long values do not need each root.
  template <class T>
  static void check_sizes(Comm& comm, const std::vector<std::size_t>& counts) {
    Delays delay(comm.rank(), static_cast<unsigned>(comm.size()));
    unsigned number = 0;
    for (const std::size_t count : counts) {
      if (!serves(comm, *GetParam().algorithm, sizeof(T), count)) continue;
      const int step = count * sizeof(T) > 4096 ? std::max(comm.size() - 1, 1) : 1;
      for (int root = 0; root < comm.size(); root += step) {
        for (int repeat = 0; repeat < 3; ++repeat) {
          delay();
          check_call<T>(comm, *GetParam().algorithm, count, root, ++number);
        }
      }
    }
  }
};

#if defined(__SANITIZE_THREAD__)  // which makes each of them take ten times as long
constexpr int kRanks[] = {2, 3, 6};
#else
constexpr int kRanks[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
#endif

TEST_P(Algorithms, ServeEverySizeAndRoot) {
  for (const int ranks : kRanks) {
    GetParam().runner.run(ranks, [](Comm& comm) {
      check_sizes<std::uint8_t>(comm, {0, 1, 3, 48, 49, 4096, 100000});
      check_sizes<std::int32_t>(comm, {12, 13, 25000});
      check_sizes<double>(comm, {1, 6, 7, 511, 12500});
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Runners, Algorithms, testing::ValuesIn(all_cases()), [](const auto& one) {
  return std::string(one.param.runner.name) + "_" +
         std::string(name_of(one.param.algorithm->kind)) + "_" +
         std::string(one.param.algorithm->name);
});

// Memory that ranks share even where they are processes.
class Counted {
 public:
  Counted()
      : at_(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
        count_(*new (at_) std::atomic<int>(0)) {}
  ~Counted() { munmap(at_, 4096); }
  std::atomic<int>& operator*() { return count_; }

 private:
  void* at_;
  std::atomic<int>& count_;
};

class Barriers : public OnRanks {};

TEST_P(Barriers, LetNobodyLeaveBeforeAllHaveCome) {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.kind != Kind::barrier) continue;
    for (const int ranks : {2, 3, 5, 8, 9}) {
      Counted counted;
      run(ranks, [&](Comm& comm) {
        if (!serves(comm, algorithm, 1, 0)) return;
        Delays delay(comm.rank(), 5);
        for (int round = 1; round <= 50; ++round) {
          delay();
          ++*counted;
          barrier(comm, {algorithm.name});
          require(*counted >= round * comm.size());
        }
      });
    }
  }
}

// A struct that is larger than a line and no power of two.
struct Large {
  std::array<std::uint8_t, 75> bytes;
  bool operator==(const Large&) const = default;
};

class Mixed : public OnRanks {};

// What one collective leaves behind must not disturb the next: all in any order, without a barrier
// between, on ranks that are late now and then.
TEST_P(Mixed, SequencesOfAllAlgorithms) {
  for (const int ranks : {2, 3, 4, 7}) {
    run(ranks, [](Comm& comm) {
      std::minstd_rand same(static_cast<unsigned>(comm.size()));
      Delays delay(comm.rank(), 3);
      for (unsigned number = 1; number <= 1500; ++number) {
        const Algorithm& algorithm = algorithms()[same() % algorithms().size()];
        const std::size_t count = same() % 4 == 0 ? same() % 9000 : same() % 49;
        const int root = static_cast<int>(same() % static_cast<unsigned>(comm.size()));
        if (!serves(comm, algorithm, 1, count)) continue;
        delay();
        check_call<std::uint8_t>(comm, algorithm, count, root, number);
      }
    });
  }
}

TEST_P(Mixed, SequencesInGroupsOfTheRanks) {
  run(6, [](Comm& world) {
    Comm half = *world.split(world.rank() % 2);
    std::minstd_rand same(7);
    for (unsigned number = 1; number <= 300; ++number) {
      Comm& comm = number % 3 == 0 ? world : half;
      const Algorithm& algorithm = algorithms()[same() % algorithms().size()];
      const std::size_t count = same() % 200;
      const int root = static_cast<int>(same() % static_cast<unsigned>(half.size()));
      if (!serves(comm, algorithm, 1, count)) continue;
      check_call<std::uint8_t>(comm, algorithm, count, root, number);
    }
  });
}

TEST_P(Mixed, StructsOfAnySize) {
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

INSTANTIATE_TEST_SUITE_P(Runners, Barriers, testing::ValuesIn(kRunners), name_of_runner);
INSTANTIATE_TEST_SUITE_P(Runners, Mixed, testing::ValuesIn(kRunners), name_of_runner);

}  // namespace
}  // namespace tabane::comm
