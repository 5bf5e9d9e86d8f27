#include "tabane/tools/encrypt/copy_share.h"

#include <gtest/gtest.h>

#include <random>

namespace tabane::encrypt {
namespace {

// `count` pairs spread over a run of 10 s; speed(at): what the machine does at that time, of both.
template <class Speed>
std::vector<CopyPair> pairs_of(int count, double share, double scatter, Speed speed) {
  std::mt19937 random(1);
  std::lognormal_distribution<double> noise(0, scatter);
  std::vector<CopyPair> pairs;
  for (int i = 0; i < count; ++i) {
    const double at = 10.0 * (i + 0.5) / count;
    const double rate = 1e9 * speed(at);
    pairs.push_back({.at = at,
                     .copy_seconds = 1e6 / rate * noise(random),
                     .copy_amount = 1e6,
                     .work_seconds = 16e6 / (share * rate) * noise(random),
                     .work_amount = 16e6});
  }
  return pairs;
}

double steady(double) { return 1; }

TEST(ShareOfCopying, OfASteadyMachineHasAnIntervalThatHoldsIt) {
  const auto share = share_of_copying(pairs_of(60, 0.8, 0.1, steady), 10);
  ASSERT_TRUE(share);
  EXPECT_TRUE(share->interval.contains(0.8));
  EXPECT_LE(share->interval.high, 1.2 * share->interval.low);
  EXPECT_EQ(share->pairs, 60u);
}

TEST(ShareOfCopying, IsNotDisturbedByASlowHalfOfTheRun) {
  const auto share =
      share_of_copying(pairs_of(60, 0.8, 0.1, [](double at) { return at < 5 ? 1.0 : 0.1; }), 10);
  ASSERT_TRUE(share);
  EXPECT_TRUE(share->interval.contains(0.8));
}

TEST(ShareOfCopying, IsNotSaidWherePairsJump) {
  std::vector<CopyPair> pairs = pairs_of(60, 0.8, 0.1, steady);
  for (std::size_t i = 0; i < pairs.size(); i += 2) pairs[i].copy_seconds *= 5;
  EXPECT_FALSE(share_of_copying(pairs, 10));
  EXPECT_FALSE(share_of_copying(pairs_of(60, 0.8, 1, steady), 10));
}

TEST(ShareOfCopying, IsNotSaidOfAShortRun) {
  EXPECT_FALSE(share_of_copying({}, 10));
  EXPECT_FALSE(share_of_copying(pairs_of(5, 0.8, 0, steady), 10));
  EXPECT_TRUE(share_of_copying(pairs_of(6, 0.8, 0, steady), 10));
}

TEST(ShareOfCopying, IsNotSaidIfAQuarterOfTheRunHasNoPair) {
  std::vector<CopyPair> pairs = pairs_of(60, 0.8, 0.1, steady);
  std::erase_if(pairs, [](const CopyPair& pair) { return pair.at > 7.5; });
  EXPECT_FALSE(share_of_copying(pairs, 10));
}

TEST(ShareOfCopying, IsNotSaidOfTimesThatAreNoTimes) {
  std::vector<CopyPair> pairs = pairs_of(60, 0.8, 0.1, steady);
  pairs[3].work_seconds = 0;
  EXPECT_FALSE(share_of_copying(pairs, 10));
}

// A thread that works at `rate` and copies `amount` between units of 16 whenever it may.
struct Simulated {
  double worked = 0, copied = 0;
  std::vector<double> at;
};
Simulated simulate(int units, double copy_slowness) {
  CopyBudget budget;
  Simulated run;
  for (int i = 0; i < units; ++i) {
    if (budget.allows(1)) {
      run.at.push_back(run.worked + run.copied);
      budget.copied(1e-3 * copy_slowness, 1);
      run.copied += 1e-3 * copy_slowness;
    }
    budget.worked(16e-3, 16);
    run.worked += 16e-3;
  }
  return run;
}

TEST(CopyBudget, IsOnePercentOfTheFilesAndTwoOfTheTime) {
  EXPECT_NEAR(simulate(10'000, 0.5).copied, 0.005 * 160, 0.01);
  EXPECT_NEAR(simulate(10'000, 1).copied, 0.01 * 160, 0.01);
  EXPECT_NEAR(simulate(10'000, 10).copied, 0.02 * 160, 0.02);
}

TEST(CopyBudget, SpreadsTheCopiesOverTheRun) {
  for (const double slowness : {0.5, 1.0, 10.0}) {
    const Simulated run = simulate(10'000, slowness);
    const double end = run.worked + run.copied;
    for (std::size_t i = 1; i < run.at.size(); ++i) {
      EXPECT_LT(run.at[i] - run.at[i - 1], 0.02 * end) << i;
    }
    EXPECT_LT(run.at.front(), 0.02 * end);
    EXPECT_GT(run.at.back(), 0.98 * end);
  }
}

TEST(CopyBudget, IsNotUsedUpByOneCopyThatWasHeldUp) {
  CopyBudget budget;
  budget.worked(1, 1000);
  budget.copied(10e-3, 1);  // ten times as long as expected
  EXPECT_TRUE(budget.allows(1));
}

TEST(CopyBudget, IsNothingBeforeThereWasWork) {
  EXPECT_FALSE(CopyBudget().allows(1));
  EXPECT_TRUE(simulate(6, 1).at.empty());
}

}  // namespace
}  // namespace tabane::encrypt
