#include "tabane/core/running_interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tabane::core {
namespace {

// Worked by hand: 2^8 / 9 = 28.4 reaches 20, 2^7 / 8 = 16 does not; 2^12 / (13 * 12) = 26.3 reaches
// 20, 2^11 / (12 * 11) = 15.5 does not; for 99 % it takes 100: 2^11 / 12 = 170, 2^10 / 11 = 93.
TEST(RunningInterval, HasTheRanksThatFollowFromTheLikelihoodRatio) {
  EXPECT_EQ(running_rank(1), 0u);
  EXPECT_EQ(running_rank(7), 0u);
  EXPECT_EQ(running_rank(8), 1u);
  EXPECT_EQ(running_rank(11), 1u);
  EXPECT_EQ(running_rank(12), 2u);
  EXPECT_EQ(running_rank(10, 0.99), 0u);
  EXPECT_EQ(running_rank(11, 0.99), 1u);
  EXPECT_EQ(running_rank(100), 35u);
}

TEST(RunningInterval, ReachesFromTheRankthSmallestToTheRankthLargest) {
  std::vector<double> samples = {9, 1, 8, 2, 7, 3, 6};
  EXPECT_EQ(running_median_interval(samples).low, -HUGE_VAL);
  EXPECT_EQ(running_median_interval(samples).high, HUGE_VAL);
  samples.push_back(5);
  EXPECT_EQ(running_median_interval(samples).low, 1);
  EXPECT_EQ(running_median_interval(samples).high, 9);
  for (const double more : {4.0, 4.5, 5.5, 6.5}) samples.push_back(more);
  EXPECT_EQ(running_median_interval(samples).low, 2);
  EXPECT_EQ(running_median_interval(samples).high, 8);
}

TEST(RunningInterval, OfARatioIsMadeFromItsPairs) {
  const std::vector<double> slow(8, 3), fast = {1, 1, 1, 1, 1, 1, 1, 2};
  const Ratio ratio = running_ratio(slow, fast);
  EXPECT_EQ(ratio.value, 3);
  EXPECT_EQ(ratio.interval.low, 1.5);
  EXPECT_EQ(ratio.interval.high, 3);
  EXPECT_FALSE(ratio.undecided());
  const Ratio few = running_ratio(std::vector<double>{2}, std::vector<double>{1});
  EXPECT_EQ(few.interval.low, 0);
  EXPECT_TRUE(few.undecided());
}

// How many of `runs` series of fair signs are ever outside the interval, looked at after each
// sample.
template <class IntervalOf>
int ever_outside(int runs, std::size_t samples, IntervalOf interval_of) {
  std::mt19937 random(17);
  std::exponential_distribution<double> noise(1);
  int outside = 0;
  for (int run = 0; run < runs; ++run) {
    std::vector<double> seen;
    while (seen.size() < samples) {
      seen.push_back(noise(random) - noise(random));  // its median is 0
      if (interval_of(seen).contains(0)) continue;
      ++outside;
      break;
    }
  }
  return outside;
}

TEST(RunningInterval, HoldsHoweverOftenItIsLookedAt) {
  constexpr int kRuns = 400;
  const auto running = [](const std::vector<double>& seen) {
    return running_median_interval(seen);
  };
  EXPECT_LE(ever_outside(kRuns, 200, running), kRuns * 5 / 100);
  // An interval for a fixed number of samples does not, which is why this one is needed.
  const auto fixed = [](const std::vector<double>& seen) {
    return seen.size() < kFewestForInterval ? Interval{-1e9, 1e9} : median_interval(seen);
  };
  EXPECT_GT(ever_outside(kRuns, 200, fixed), kRuns * 15 / 100);
}

}  // namespace
}  // namespace tabane::core
