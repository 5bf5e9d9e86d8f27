#include "tabane/tools/tune/search_beliefs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tabane::lab::tune {
namespace {

using Runs = std::vector<double>;

TEST(Noise, OfTwoRunsThatDifferMuchTheBetterCounts) {
  const Noise noise;
  EXPECT_DOUBLE_EQ(noise.middle(Runs{1.0, 0.0}), 0.0);
  EXPECT_DOUBLE_EQ(noise.middle(Runs{0.04, 0.0}), 0.02);
  EXPECT_LT(noise.limit(Runs{1.0, 0.0}), 1.0);
}

TEST(Noise, OfMoreRunsTheMajorityCounts) {
  const Noise noise;
  EXPECT_DOUBLE_EQ(noise.middle(Runs{1.0, 0.0, 1.02}), 1.0);
  EXPECT_DOUBLE_EQ(noise.middle(Runs{0.0, 1.0, 0.02, 0.9, 0.01}), 0.01);
}

TEST(Noise, DoesNotTakeDisturbancesForNoise) {
  Noise noise;
  noise.learn({{0.00, 0.01, 0.9, 0.01, 0.00}, {0.5, 0.51, 0.49}, {7}});
  EXPECT_LT(noise.deviation(), 0.04);
  EXPECT_GT(noise.disturbed_share(), Noise().disturbed_share());
}

TEST(Noise, IsLargeWhereAllRunsDiffer) {
  Noise noise;
  Runs runs;
  for (int i = 0; i < 60; ++i) runs.push_back(0.15 * std::sin(i * i));
  noise.learn({runs});
  EXPECT_NEAR(noise.deviation(), 0.15 / std::sqrt(2.0), 0.03);
}

TEST(Noise, ARunWorseThanExpectedMayHaveBeenDisturbed) {
  const Noise noise;
  const Belief expected{.mean = 0, .variance = 0.01};
  EXPECT_GT(noise.chance_disturbed(expected, 0.8), 0.9);
  EXPECT_LT(noise.chance_disturbed(expected, 0.0), 0.02);
  EXPECT_LT(noise.chance_disturbed(expected, -0.3), 0.01);
}

TEST(Drift, IsSeenInTheOrderOfValuesOnly) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  int in_order = 0, by_chance = 0;
  constexpr int kSeries = 400;
  for (int i = 0; i < kSeries; ++i) {
    std::vector<double> values;
    for (int k = 0; k < 30; ++k) values.push_back(normal(random) + (k < 15 ? 0 : 2));
    in_order += drifts(values);
    std::shuffle(values.begin(), values.end(), random);
    by_chance += drifts(values);
  }
  EXPECT_GT(in_order, 0.9 * kSeries);
  EXPECT_LT(by_chance, 0.08 * kSeries);
}

TEST(Drift, IsNoneOfEqualOrFewValues) {
  EXPECT_FALSE(drifts(std::vector<double>(50, 1.0)));
  EXPECT_FALSE(drifts(std::vector<double>{1, 2, 3}));
  EXPECT_FALSE(drifts({}));
}

}  // namespace
}  // namespace tabane::lab::tune
