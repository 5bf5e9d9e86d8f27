#include "tabane/core/passes.h"

#include <gtest/gtest.h>

#include <random>

namespace tabane::core {
namespace {

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

}  // namespace
}  // namespace tabane::core
