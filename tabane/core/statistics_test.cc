#include "tabane/core/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

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

}  // namespace
}  // namespace tabane::core
