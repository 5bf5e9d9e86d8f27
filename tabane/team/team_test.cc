// Teams of one process: nothing is forked, so these run under every sanitizer.
#include "tabane/team/team.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <climits>
#include <numeric>
#include <thread>

#include "tabane/core/binding.h"
#include "tabane/team/faulty_team_test.h"

namespace tabane::team {
namespace {

std::vector<std::size_t> first_numbers(std::size_t n) {
  std::vector<std::size_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

TEST(ThreadTeam, ReturnsResultsInTheOrderOfTheTasks) {
  for (const int threads : {1, 2, 5}) {
    Team team({.processes = 1, .threads = threads});
    for (const std::size_t n :
         {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{1000}}) {
      EXPECT_EQ(team.map<std::size_t>(n, [](std::size_t i) { return i; }), first_numbers(n));
    }
  }
}

TEST(ThreadTeam, CallsEachTaskOnceAndSharesTheCallersMemory) {
  std::vector<std::atomic<int>> calls(10'000);
  Team team({.processes = 1, .threads = 3});
  team.map<char>(calls.size(), [&](std::size_t i) {
    ++calls[i];
    return 'x';
  });
  for (const auto& count : calls) ASSERT_EQ(count.load(), 1);
  const auto& tasks = team.report().tasks;
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(std::accumulate(tasks.begin(), tasks.end(), std::size_t{0}), calls.size());
}

// Of tasks that compute, and of tasks that wait, for which there are more threads than PUs.
TEST(ThreadTeam, DoesEachTaskOnceWhileItChoosesItsThreads) {
  for (const bool waits : {false, true}) {
    for (const std::size_t n : {2, 16, 400}) {
      std::vector<std::atomic<int>> calls(n);
      Team team({.processes = 1, .threads = automatic});
      const auto numbers = team.map<std::size_t>(n, [&](std::size_t i) {
        ++calls[i];
        if (waits) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        for (std::size_t k = 0; !waits && k < 50'000; ++k) core::keep(k);
        return i;
      });
      EXPECT_EQ(numbers, first_numbers(n));
      for (const auto& count : calls) ASSERT_EQ(count.load(), 1);
    }
  }
}

TEST(ThreadTeam, ReturnsTypesOfAllKinds) {
  struct Made {
    explicit Made(int i) : value(i) {}
    int value;
  };
  Team team({.processes = 1, .threads = 2});
  EXPECT_EQ(team.map<Made>(3, [](std::size_t i) { return Made(int(i)); })[2].value, 2);
  EXPECT_EQ(team.map<bool>(3, [](std::size_t i) { return i == 1; }),
            (std::vector<bool>{false, true, false}));
  EXPECT_EQ(team.map<std::string>(2, [](std::size_t i) { return std::string(i, 'a'); }),
            (std::vector<std::string>{"", "a"}));
  using Large = std::array<char, 5000>;
  EXPECT_EQ(team.map<Large>(2, [](std::size_t) { return Large{'q'}; })[1][0], 'q');
}

TEST(ThreadTeam, GivesEveryWorkerOneCallOfRun) {
  std::vector<std::atomic<int>> calls(4);
  Team team({.processes = 1, .threads = 4});
  team.run([&](const Worker& worker) {
    EXPECT_EQ(worker.process, 0);
    EXPECT_EQ(worker.thread, worker.index);
    ++calls[static_cast<std::size_t>(worker.index)];
  });
  for (const auto& count : calls) EXPECT_EQ(count.load(), 1);
  std::atomic<int> plain{0};
  team.run([&] { ++plain; });
  EXPECT_EQ(plain.load(), 4);
  EXPECT_EQ(team.report().tasks, std::vector<std::size_t>(4, 1));
}

TEST(ThreadTeam, ReducesWithTheInitialValueUsedOnce) {
  for (const int threads : {1, 3}) {
    Team team({.processes = 1, .threads = threads});
    const auto number = [](std::size_t i) { return static_cast<long>(i); };
    EXPECT_EQ(team.map_reduce<long>(1001, number, 7, std::plus<>()), 7 + 500'500);
    EXPECT_EQ(team.map_reduce<long>(0, number, 7, std::plus<>()), 7);
    const auto larger = [](long a, long b) { return std::max(a, b); };
    EXPECT_EQ(team.map_reduce<long>(100, number, LONG_MIN, larger), 99);
  }
}

TEST(ThreadTeam, ReducesStringsAndMaps) {
  using Counts = std::map<std::string, int>;
  Team team({.processes = 1, .threads = 2});
  const auto merge = [](Counts a, const Counts& b) {
    for (const auto& [word, count] : b) a[word] += count;
    return a;
  };
  const auto count = [](std::size_t i) { return Counts{{std::to_string(i % 3), 1}}; };
  EXPECT_EQ(team.map_reduce<Counts>(300, count, {}, merge),
            (Counts{{"0", 100}, {"1", 100}, {"2", 100}}));
}

TEST(ThreadTeam, TellsTheTaskAndTheMessageOfAnException) {
  Team team({.processes = 1, .threads = 2});
  expect_to_tell_the_task_that_throws(team);
  EXPECT_EQ(team.map<int>(2, [](std::size_t) { return 1; }), (std::vector<int>{1, 1}));
}

TEST(ThreadTeam, TellsOneFailureWhenAllTasksThrow) {
  Team team({.processes = 1, .threads = 4});
  EXPECT_THROW(team.map<std::string>(1000, [](std::size_t) -> std::string { throw 5; }), TaskError);
  EXPECT_THROW(team.run([] { throw std::string("not a std::exception"); }), TaskError);
}

TEST(ThreadTeam, PutsTheCallersBindingBack) {
  const auto before = core::thread_binding();
  Team team({.processes = 1, .threads = 2, .placement = core::PlacementPolicy::compact});
  team.run([] {});
  EXPECT_EQ(core::thread_binding(), before);
  EXPECT_THROW(team.run([] { throw 1; }), TaskError);
  EXPECT_EQ(core::thread_binding(), before);
}

TEST(ThreadTeam, BindsEachWorkerByThePolicy) {
  const auto usable = core::thread_binding();
  std::vector<std::vector<unsigned>> bindings(2);
  const auto note = [&](const Worker& worker) {
    bindings[static_cast<std::size_t>(worker.index)] = core::thread_binding();
  };
  Team bound({.processes = 1, .threads = 2, .placement = core::PlacementPolicy::compact});
  bound.run(note);
  if (core::Topology::detect().is_this_machine()) {
    for (const auto& one : bindings) EXPECT_EQ(one.size(), 1u);
  }
  Team unbound({.processes = 1, .threads = 2, .placement = core::PlacementPolicy::none});
  unbound.run(note);
  for (const auto& one : bindings) EXPECT_EQ(one, usable);
}

TEST(ThreadTeam, SaysWhenWorkersSharePus) {
  const int many = static_cast<int>(core::Topology::detect().pus().size()) + 1;
  Team team({.processes = 1, .threads = many});
  team.run([] {});
  ASSERT_FALSE(team.report().remarks.empty());
  EXPECT_NE(team.report().remarks[0].find(std::to_string(many) + " workers share"),
            std::string::npos);
  EXPECT_FALSE(team.report().shared_share.has_value());
}

TEST(ThreadTeam, MayBeNestedInItself) {
  Team outer({.processes = 1, .threads = 2});
  const auto sums = outer.map<long>(4, [](std::size_t i) {
    Team inner({.processes = 1, .threads = 2});
    return inner.map_reduce<long>(
        10, [&](std::size_t k) { return long(i * k); }, 0, std::plus<>());
  });
  EXPECT_EQ(sums, (std::vector<long>{0, 45, 90, 135}));
}

TEST(TeamOptions, RefusesImpossibleNumbersAndNamesTheLegalOnes) {
  EXPECT_THROW(Team({.processes = -1, .threads = 1}), core::UsageError);
  EXPECT_THROW(Team({.processes = 1, .threads = -3}), core::UsageError);
  EXPECT_THROW(Team({.processes = INT_MAX, .threads = INT_MAX}), core::UsageError);
  EXPECT_THROW(Team({.processes = 65'537, .threads = 1}), core::UsageError);
  try {
    Team({.processes = INT_MIN});
    FAIL() << "was taken";
  } catch (const core::UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("1 to 65536"), std::string::npos);
  }
}

struct Odd : std::length_error {
  Odd() : std::length_error("mine") {}
};

TEST(ThreadTeam, PassesOnWhatCombineThrowsInTheCaller) {
  for (const int threads : {1, 2}) {
    Team team({.processes = 1, .threads = threads});
    const auto none = [](int, int) -> int { throw Odd(); };
    EXPECT_THROW(team.map_reduce<int>(
                     1, [](std::size_t) { return 1; }, 0, none),
                 Odd);
  }
}

TEST(ThreadTeam, RefusesANegativeNumberOfTasks) {
  Team team({.processes = 1, .threads = 2});
  EXPECT_THROW(team.map<int>(static_cast<std::size_t>(-1), [](std::size_t) { return 0; }),
               core::UsageError);
}

TEST(ThreadTeam, RefusesResultsThatAreNotAllowedOrDoNotFit) {
  Team team({.processes = 1, .threads = 1, .most_result_bytes = 99});
  EXPECT_EQ(team.map<char>(99, [](std::size_t) { return 'a'; }).size(), 99u);
  EXPECT_THROW(team.map<char>(100, [](std::size_t) { return 'a'; }), core::SystemError);
  using Large = std::array<char, 1 << 20>;
  Team usual({.processes = 1, .threads = 1});
  EXPECT_THROW(usual.map<Large>(std::size_t{1} << 40, [](std::size_t) { return Large{}; }),
               core::SystemError);
}

}  // namespace
}  // namespace tabane::team
