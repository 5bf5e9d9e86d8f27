#include "tabane/core/rounds.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

namespace tabane::core {
namespace {

// A clock that a test moves.
class HandClock : public Clock {
 public:
  double now() override { return seconds; }
  double step() const override { return 1e-9; }
  double seconds = 0;
};

struct Runs {
  std::vector<std::size_t> order;
  std::vector<std::vector<int>> kept;
  RoundsEnd end = RoundsEnd::most;
};

// Each sample takes a second.
Runs run(std::size_t competitors, const RoundsOptions& options) {
  Runs runs;
  HandClock clock;
  runs.end = in_rounds(
      competitors, options, clock, 0,
      [&](std::size_t i) {
        clock.seconds += 1;
        runs.order.push_back(i);
        return static_cast<int>(i);
      },
      [&](const std::vector<int>& samples) { runs.kept.push_back(samples); });
  return runs;
}

TEST(InRounds, GivesOneSampleOfEachInEveryRoundInAnOrderDrawnAnew) {
  const Runs runs = run(5, {.most = 20});
  ASSERT_EQ(runs.kept.size(), 20u);
  std::set<std::vector<std::size_t>> orders;
  for (std::size_t round = 0; round < 20; ++round) {
    EXPECT_EQ(runs.kept[round], (std::vector<int>{0, 1, 2, 3, 4}));
    const auto begin = runs.order.begin() + static_cast<std::ptrdiff_t>(5 * round);
    orders.emplace(begin, begin + 5);
    EXPECT_EQ(std::set<std::size_t>(begin, begin + 5).size(), 5u);
  }
  EXPECT_GT(orders.size(), 10u);
}

TEST(InRounds, EndsWithTheBudgetAfterTheFewestRounds) {
  EXPECT_EQ(run(2, {.most = 100, .budget_seconds = 9}).kept.size(), 5u);
  EXPECT_EQ(run(2, {.fewest = 7, .most = 100, .budget_seconds = 1}).kept.size(), 7u);
  EXPECT_EQ(run(2, {.most = 3}).end, RoundsEnd::most);
  EXPECT_EQ(run(2, {.most = 100, .budget_seconds = 9}).end, RoundsEnd::budget);
}

TEST(InRounds, BeginsNoRoundAfterTheMostSecondsNotEvenOneOfTheFewest) {
  EXPECT_EQ(run(2, {.fewest = 7, .most = 100, .most_seconds = 3}).kept.size(), 2u);
}

TEST(InRounds, EndsWhenItIsEnough) {
  HandClock clock;
  int kept = 0;
  const RoundsEnd end = in_rounds(
      1, {.fewest = 2}, clock, 0, [](std::size_t) { return 0; },
      [&](const std::vector<int>&) { ++kept; }, [](int rounds) { return rounds >= 4; });
  EXPECT_EQ(end, RoundsEnd::enough);
  EXPECT_EQ(kept, 4);
}

TEST(InRounds, KeepsWholeRoundsOnlyWhenASampleThrows) {
  HandClock clock;
  int taken = 0, kept = 0;
  const auto take = [&](std::size_t) {
    if (++taken == 6) throw std::runtime_error("stopped");
    return 0;
  };
  EXPECT_THROW(in_rounds(4, {}, clock, 0, take, [&](const std::vector<int>&) { ++kept; }),
               std::runtime_error);
  EXPECT_EQ(kept, 1);
}

}  // namespace
}  // namespace tabane::core
