#include "tabane/core/measurement.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "tabane/core/manual_clock_test.h"

namespace tabane::core {
namespace {

struct Runs {
  std::vector<std::size_t> order;
  std::vector<std::vector<int>> kept;
  RoundsEnd end = RoundsEnd::most;
};

// Each sample takes a second.
Runs run(std::size_t contenders, const Effort& effort) {
  Runs runs;
  ManualClock clock;
  runs.end = in_rounds(
      contenders, effort, clock, 0,
      [&](std::size_t i) {
        clock.advance(1);
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
  ManualClock clock;
  int kept = 0;
  const RoundsEnd end = in_rounds(
      1, {.fewest = 2}, clock, 0, [](std::size_t) { return 0; },
      [&](const std::vector<int>&) { ++kept; }, [](int rounds) { return rounds >= 4; });
  EXPECT_EQ(end, RoundsEnd::enough);
  EXPECT_EQ(kept, 4);
}

TEST(InRounds, KeepsWholeRoundsOnlyWhenASampleThrows) {
  ManualClock clock;
  int taken = 0, kept = 0;
  const auto take = [&](std::size_t) {
    if (++taken == 6) throw std::runtime_error("stopped");
    return 0;
  };
  EXPECT_THROW(in_rounds(4, {}, clock, 0, take, [&](const std::vector<int>&) { ++kept; }),
               std::runtime_error);
  EXPECT_EQ(kept, 1);
}

TEST(Measure, GrowsTheEpochToAThousandStepsOfTheClock) {
  ManualClock clock;
  const Series series = measure(
      "work", [&](std::uint64_t n) { clock.advance(3e-9 * static_cast<double>(n)); },
      {.min_epoch_seconds = 0}, clock);
  EXPECT_GE(3e-9 * static_cast<double>(series.iterations_per_epoch), 1000e-9);
  EXPECT_LE(3e-9 * static_cast<double>(series.iterations_per_epoch), 3000e-9);
  EXPECT_NEAR(series.median(), 3e-9, 1e-15);
}

TEST(Measure, DoesNotTakeAnInterruptionForAnEpochThatIsLongEnough) {
  ManualClock clock;
  int call = 0;
  const Series series = measure(
      "interrupted at first",
      [&](std::uint64_t n) {
        clock.advance((call++ == 0 ? 1.0 : 0) + 1e-9 * static_cast<double>(n));
      },
      {.min_epoch_seconds = 0}, clock);
  EXPECT_GE(series.iterations_per_epoch, 1000u);
}

TEST(Measure, StopsAsSoonAsTheMedianIsKnown) {
  ManualClock clock;
  const Series series = measure(
      "steady", [&](std::uint64_t n) { clock.advance(1e-6 * static_cast<double>(n)); },
      {.min_epochs = 7}, clock);
  EXPECT_EQ(series.stopped, RoundsEnd::enough);
  EXPECT_EQ(series.samples.size(), 7u);
}

TEST(Measure, StopsAtTheBudgetWhenTheWorkIsNoisy) {
  ManualClock clock;
  int call = 0;
  const Series series = measure(
      "noisy",
      [&](std::uint64_t n) { clock.advance((call++ % 2 ? 1e-3 : 3e-3) * static_cast<double>(n)); },
      {.budget_seconds = 0.5, .min_epochs = 5}, clock);
  EXPECT_EQ(series.stopped, RoundsEnd::budget);
  EXPECT_LT(clock.now(), 0.52);
}

TEST(Measure, TakesMinEpochsEvenWhenOneEpochIsOverTheBudget) {
  ManualClock clock;
  const Series series = measure(
      "slow", [&](std::uint64_t n) { clock.advance(2.0 * static_cast<double>(n)); },
      {.budget_seconds = 0.1, .min_epochs = 3, .warmup_epochs = 0, .single_iteration = true},
      clock);
  EXPECT_EQ(series.samples.size(), 3u);
}

TEST(MeasureInterleaved, CallsBeforeOncePerEpochOutsideItsTime) {
  ManualClock clock;
  int prepared = 0, worked = 0;
  const auto work = [&](std::uint64_t) {
    EXPECT_EQ(prepared, ++worked);
    clock.advance(1e-3);
  };
  const auto before = [&] {
    ++prepared;
    clock.advance(1.0);
  };
  const auto all = measure_interleaved(
      {{"prepared", work, before}},
      {.min_epochs = 4, .max_epochs = 4, .warmup_epochs = 2, .single_iteration = true}, clock);
  EXPECT_EQ(worked, 2 + 4);
  EXPECT_NEAR(all[0].median(), 1e-3, 1e-12);
}

TEST(Measure, DoesNotCountWarmUpEpochs) {
  ManualClock clock;
  int call = 0;
  const Series series = measure(
      "cold start", [&](std::uint64_t) { clock.advance(call++ < 2 ? 1.0 : 1e-3); },
      {.warmup_epochs = 2, .single_iteration = true}, clock);
  EXPECT_LT(*std::max_element(series.samples.begin(), series.samples.end()), 0.5);
}

TEST(MeasureInterleaved, LetsADriftHitAllContendersAlike) {
  ManualClock clock;
  const auto work = [&](double seconds) {
    return [&clock, seconds](std::uint64_t n) {
      // The machine slows down by half in the course of the run.
      clock.advance(seconds * (1 + clock.now()) * static_cast<double>(n));
    };
  };
  const auto series = measure_interleaved({{"a", work(2e-3)}, {"b", work(1e-3)}},
                                          {.confidence_target = 0, .budget_seconds = 0.25}, clock);
  ASSERT_EQ(series[0].samples.size(), series[1].samples.size());
  EXPECT_NEAR(interleaved_ratio(series[0].samples, series[1].samples).value, 2.0, 0.02);
}

TEST(MeasureInterleaved, DrawsTheOrderAnewInEveryRound) {
  ManualClock clock;
  std::string order;
  const auto work = [&](char name) {
    return [&, name](std::uint64_t) {
      order += name;
      clock.advance(1e-3);
    };
  };
  measure_interleaved({{"a", work('a')}, {"b", work('b')}},
                      {.confidence_target = -1,
                       .min_epochs = 20,
                       .max_epochs = 20,
                       .warmup_epochs = 0,
                       .single_iteration = true},
                      clock);
  ASSERT_EQ(order.size(), 40u);
  int a_first = 0;
  for (std::size_t round = 0; round < 20; ++round) a_first += order[2 * round] == 'a';
  EXPECT_GT(a_first, 3);
  EXPECT_LT(a_first, 17);
}

TEST(Repeat, RunsTheCallableOncePerIteration) {
  int count = 0;
  repeat([&] { ++count; })(17);
  EXPECT_EQ(count, 17);
}

}  // namespace
}  // namespace tabane::core
