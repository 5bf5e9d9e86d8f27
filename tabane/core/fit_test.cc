#include "tabane/core/fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tabane/core/error.h"

namespace tabane::core {
namespace {

TEST(FitLine, RecoversAnExactLine) {
  // Ping-pong with t0 = 19 us and 0.18 us a byte.
  std::vector<double> x, y;
  for (double n = 1; n <= 1 << 20; n *= 2) {
    x.push_back(n);
    y.push_back(19e-6 + 0.18e-6 * n);
  }
  for (FitWeight weight : {FitWeight::absolute, FitWeight::relative}) {
    const LineFit fit = fit_line(x, y, weight);
    EXPECT_NEAR(fit.t0(), 19e-6, 1e-10);
    EXPECT_NEAR(fit.r_inf(), 1 / 0.18e-6, 1);
    // n_half is by definition t0 r_inf.
    EXPECT_NEAR(fit.n_half(), fit.t0() * fit.r_inf(), 1e-6);
    EXPECT_LT(fit.worst_relative_residual, 1e-6);
  }
}

TEST(FitLine, IntervalsHoldTheTruthUnderNoise) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> noise(0, 1);
  int held = 0;
  constexpr int kTrials = 100;
  for (int t = 0; t < kTrials; ++t) {
    std::vector<double> x, y;
    for (int i = 0; i < 60; ++i) {
      x.push_back(i);
      y.push_back(5 + 2 * i + noise(random));
    }
    held += fit_line(x, y, FitWeight::absolute, 300).slope_interval.contains(2.0);
  }
  EXPECT_GT(held, 85);
}

TEST(FitLine, GivesTheSameIntervalsForTheSameData) {
  const std::vector<double> x = {1, 2, 3, 4}, y = {1.1, 1.9, 3.2, 3.9};
  EXPECT_EQ(fit_line(x, y).slope_interval.low, fit_line(x, y).slope_interval.low);
}

TEST(FitLine, RelativeWeightKeepsSmallPointsFromBeingDrowned) {
  // The large point is off by 10 %; the intercept must still be that of the small ones.
  const std::vector<double> x = {1, 2, 4, 8, 1e6};
  const std::vector<double> y = {11, 12, 14, 18, 1.1e6};
  EXPECT_NEAR(fit_line(x, y, FitWeight::relative).intercept, 10, 0.5);
}

TEST(FitLine, RefusesDataWithoutASlope) {
  EXPECT_THROW(fit_line({}, {}), Error);
  const std::vector<double> one = {1}, same = {2, 2};
  EXPECT_THROW(fit_line(one, one), Error);
  EXPECT_THROW(fit_line(same, same), Error);
}

}  // namespace
}  // namespace tabane::core
