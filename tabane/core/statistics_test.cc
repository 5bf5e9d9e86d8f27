#include "tabane/core/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tabane::core {
namespace {

TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  const std::vector<double> x = {40, 10, 30, 20};
  EXPECT_DOUBLE_EQ(quantile(x, 0), 10);
  EXPECT_DOUBLE_EQ(quantile(x, 0.25), 17.5);
  EXPECT_DOUBLE_EQ(median(x), 25);
  EXPECT_DOUBLE_EQ(quantile(x, 1), 40);
}

TEST(Quantile, OfASingleSampleIsTheSample) {
  const std::vector<double> x = {7};
  EXPECT_DOUBLE_EQ(quantile(x, 0.9), 7);
  EXPECT_DOUBLE_EQ(standard_deviation(x), 0);
}

TEST(StandardDeviation, DividesByNMinusOne) {
  const std::vector<double> x = {2, 4, 4, 4, 5, 5, 7, 9};
  EXPECT_NEAR(standard_deviation(x), 2.13809, 1e-5);
}

// Ranks from tables of the binomial distribution: n = 10 gives the 2nd and 9th (97.9 %), n = 20 the
// 6th and 15th (95.9 %), n = 100 the 40th and 61st (96.5 %).
TEST(MedianInterval, HasTheRanksOfTheBinomialTables) {
  auto ramp = [](int n) {
    std::vector<double> x;
    for (int i = n; i >= 1; --i) x.push_back(i);
    return x;
  };
  EXPECT_DOUBLE_EQ(median_interval(ramp(10)).low, 2);
  EXPECT_DOUBLE_EQ(median_interval(ramp(10)).high, 9);
  EXPECT_DOUBLE_EQ(median_interval(ramp(20)).low, 6);
  EXPECT_DOUBLE_EQ(median_interval(ramp(20)).high, 15);
  EXPECT_DOUBLE_EQ(median_interval(ramp(100)).low, 40);
  EXPECT_DOUBLE_EQ(median_interval(ramp(100)).high, 61);
}

TEST(MedianInterval, IsTheWholeRangeWhenThereAreTooFewSamples) {
  const std::vector<double> x = {5, 1, 3, 2, 4};
  EXPECT_DOUBLE_EQ(median_interval(x).low, 1);
  EXPECT_DOUBLE_EQ(median_interval(x).high, 5);
}

TEST(MedianInterval, CoversTheTrueMedianOfASkewedDistributionAboutAsOftenAsItSays) {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> skewed(1.0);
  int covered = 0;
  constexpr int kTrials = 2000;
  for (int t = 0; t < kTrials; ++t) {
    std::vector<double> x(25);
    for (double& v : x) v = skewed(random);
    covered += median_interval(x).contains(std::log(2.0));
  }
  EXPECT_GT(covered, kTrials * 0.94);
  EXPECT_LT(covered, kTrials * 0.985);
}

TEST(MedianInterval, SurvivesThousandsOfSamples) {
  std::vector<double> x(5000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  const Interval interval = median_interval(x);
  // Normal approximation: 2500 ∓ 1.96 √5000 / 2.
  EXPECT_NEAR(interval.low, 2500 - 69.3, 3);
  EXPECT_NEAR(interval.high, 2500 + 69.3, 3);
}

TEST(OutliersMeanPlus, FlagsRunsOneSecondAboveTheMeanOfAll) {
  std::vector<double> x(99, 0.5);
  x.push_back(6.0);  // mean 0.555
  EXPECT_EQ(outliers_mean_plus(x), std::vector<std::size_t>{99});
  x.back() = 1.5;
  EXPECT_TRUE(outliers_mean_plus(x).empty());
}

TEST(OutliersFarFence, FlagsBothSidesBeyondThreeInterquartileRanges) {
  const std::vector<double> x = {10, 11, 12, 13, 14, -100, 100};
  EXPECT_EQ(outliers_far_fence(x), (std::vector<std::size_t>{5, 6}));
}

TEST(InterleavedRatio, CancelsADriftThatBothSeriesShare) {
  std::vector<double> a, b;
  for (int i = 0; i < 40; ++i) {
    const double drift = 1 + 0.05 * i;
    a.push_back(3 * drift);
    b.push_back(2 * drift);
  }
  const Ratio ratio = interleaved_ratio(a, b);
  EXPECT_NEAR(ratio.value, 1.5, 1e-12);
  EXPECT_NEAR(ratio.interval.low, 1.5, 1e-12);
  EXPECT_NEAR(ratio.interval.high, 1.5, 1e-12);
  EXPECT_FALSE(ratio.undecided());
}

TEST(InterleavedRatio, IsUndecidedForTheSameNoise) {
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> noise(0, 0.1);
  std::vector<double> a(101), b(101);
  for (double& v : a) v = noise(random);
  for (double& v : b) v = noise(random);
  EXPECT_TRUE(interleaved_ratio(a, b).undecided());
}

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

TEST(PassMedians, AreOneAPass) {
  const std::vector<double> samples = {1, 2, 9, 10, 20};
  EXPECT_EQ(pass_medians(samples, {3, 0, 2}), (std::vector<double>{2, 15}));
  EXPECT_EQ(pass_medians(samples, {}), samples);
  EXPECT_EQ(pass_medians(samples, {5}), samples);
}

TEST(SummarizePasses, CountsPassesAndNotSamples) {
  // Six moments of the machine, each known very well.
  std::vector<double> samples;
  for (const double moment : {10, 11, 12, 13, 14, 15}) samples.insert(samples.end(), 100, moment);
  const PassSummary summary = summarize_passes(samples, PassSizes(6, 100));
  EXPECT_EQ(summary.median, 12.5);
  EXPECT_EQ(summary.interval.low, 10);
  EXPECT_EQ(summary.interval.high, 15);
  EXPECT_EQ(summary.observations, 6u);
}

// A median of all samples lies inside its own interval for 95 of 100 machines only if the interval
// knows of the machine's moments.
TEST(SummarizePasses, CoversTheMachineInNineteenOfTwentyRuns) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> moment(100, 5), noise(0, 0.1);
  constexpr int kRuns = 1000, kPasses = 8, kSamples = 20;
  int covered = 0, covered_by_one_level = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<double> samples;
    for (int pass = 0; pass < kPasses; ++pass) {
      const double here = moment(random);
      for (int i = 0; i < kSamples; ++i) samples.push_back(here + noise(random));
    }
    covered += summarize_passes(samples, PassSizes(kPasses, kSamples)).interval.contains(100);
    covered_by_one_level += median_interval(samples).contains(100);
  }
  EXPECT_GE(covered, 950);
  EXPECT_LT(covered_by_one_level, 800);
}

TEST(RatioOfPasses, PairsSamplesAndCountsPasses) {
  const std::vector<double> a = {2, 4, 6, 30, 30, 30}, b = {1, 2, 3, 10, 10, 10};
  const Ratio ratio = ratio_of_passes(a, b, {3, 3});
  EXPECT_EQ(ratio.value, 2.5);
  EXPECT_EQ(ratio.interval.low, 2);
  EXPECT_EQ(ratio.interval.high, 3);
  EXPECT_EQ(ratio.pairs, 6u);
}

TEST(TwoStates, AreTwoGroupsFarApart) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(0, 1);
  std::vector<double> samples;
  for (int i = 0; i < 30; ++i) samples.push_back((i % 3 == 0 ? 120 : 60) + noise(random));
  const auto states = two_states(samples);
  ASSERT_TRUE(states);
  EXPECT_NEAR(states->low, 60, 1);
  EXPECT_NEAR(states->high, 120, 1);
  EXPECT_NEAR(states->high_share, 1.0 / 3, 1e-9);
}

TEST(TwoStates, AreNotSeenInOneGroupNorInAFewOutliers) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> noise(60, 5);
  std::vector<double> samples(200);
  for (double& x : samples) x = noise(random);
  EXPECT_FALSE(two_states(samples));
  std::vector<double> steady(100, 60);
  for (int i = 0; i < 5; ++i) steady[static_cast<std::size_t>(i)] = 10;
  EXPECT_FALSE(two_states(steady));
  EXPECT_FALSE(two_states(std::vector<double>(100, 60.0)));
  EXPECT_FALSE(two_states(std::vector<double>{1, 2}));
}

TEST(RankSumChance, IsTheShareOfChoicesThatLieAsFarApart) {
  using V = std::vector<double>;
  EXPECT_NEAR(rank_sum_chance(V{1, 2, 3}, V{4, 5, 6}), 2. / 20, 1e-12);
  EXPECT_NEAR(rank_sum_chance(V{6, 4, 5}, V{2, 3, 1}), 2. / 20, 1e-12);
  EXPECT_NEAR(rank_sum_chance(V{1, 2, 3, 4, 5, 6}, V{7, 8, 9, 10, 11, 12}), 2. / 924, 1e-12);
  EXPECT_NEAR(rank_sum_chance(V{1}, V{2, 3, 4}), 2. / 4, 1e-12);
  EXPECT_NEAR(rank_sum_chance(V{1, 1, 2}, V{2, 2, 2}), 8. / 20, 1e-12);
  EXPECT_NEAR(rank_sum_chance(V{1, 4}, V{2, 3}), 1, 1e-12);
  EXPECT_NEAR(rank_sum_chance(V{5, 5, 5}, V{5, 5}), 1, 1e-12);
}

TEST(RankSumChance, OfManySamplesIsThatOfTheNormalDistribution) {
  // Of n and n in turns, with the first ones of the second series moved down.
  const auto chance = [](int n, int moved) {
    std::vector<double> a, b;
    for (int i = 0; i < n; ++i) {
      a.push_back(2 * i);
      b.push_back(i < moved ? -1 - i : 2 * i + 1);
    }
    return rank_sum_chance(a, b);
  };
  for (const int moved : {2, 4, 6, 8}) {
    EXPECT_NEAR(chance(20, moved), chance(21, moved), 0.04) << moved;
  }
  EXPECT_LT(chance(200, 150), 1e-6);
  EXPECT_EQ(rank_sum_chance(std::vector<double>(30, 5), std::vector<double>(30, 5)), 1);
}

}  // namespace
}  // namespace tabane::core
