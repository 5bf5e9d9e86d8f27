#include "tabane/core/fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

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

TEST(ScalabilityLaw, GivesOneWorkerItsOwnThroughput) {
  const ScalabilityLaw law{.contention = 0.3, .coherency = 0.1};
  EXPECT_DOUBLE_EQ(law.speedup(1), 1);
}

TEST(ScalabilityLaw, IsHandWorkedForFourWorkers) {
  const ScalabilityLaw law{.contention = 0.1, .coherency = 0.025};
  EXPECT_DOUBLE_EQ(law.speedup(4), 4 / (1 + 0.3 + 0.3));
  EXPECT_DOUBLE_EQ(law.efficiency(4), 1 / 1.6);
}

TEST(ScalabilityLaw, DoesNotExceedItsCeiling) {
  const ScalabilityLaw law{.ceiling = 3};
  EXPECT_DOUBLE_EQ(law.speedup(2), 2);
  EXPECT_DOUBLE_EQ(law.speedup(8), 3);
}

TEST(FitScalability, FindsTheLawThatMadeThePoints) {
  for (const double contention : {0.0, 0.02, 0.5}) {
    for (const double coherency : {0.0, 0.001, 0.1}) {
      const ScalabilityLaw law{.contention = contention, .coherency = coherency};
      std::vector<TimePoint> points;
      for (const double n : {1, 2, 4, 8, 16}) {
        points.push_back({.workers = n, .seconds = 1 / law.speedup(n)});
      }
      const ScalabilityLaw found = fit_scalability(points);
      EXPECT_NEAR(found.contention, contention, 1e-9);
      EXPECT_NEAR(found.coherency, coherency, 1e-9);
    }
  }
}

TEST(FitScalability, TakesOnePointForContention) {
  const std::vector<TimePoint> points{{.workers = 4, .seconds = 0.5}};
  EXPECT_NEAR(fit_scalability(points).contention, 1.0 / 3, 1e-12);
  EXPECT_EQ(fit_scalability(points).coherency, 0);
}

TEST(FitScalability, NeverGivesANegativeLaw) {
  const std::vector<TimePoint> faster{{2, 1 / 2.1}, {4, 1 / 4.4}, {8, 1 / 9.}};
  EXPECT_EQ(fit_scalability(faster).contention, 0);
  EXPECT_EQ(fit_scalability(faster).coherency, 0);
}

TEST(ScalabilityLawOf, IsTheLawThatMadeThePoints) {
  for (const ScalabilityLaw law :
       {ScalabilityLaw{}, {.contention = 1}, {.contention = 0.2, .coherency = 0.1}}) {
    std::vector<TimePoint> points;
    for (const double n : {1, 2, 4, 8})
      points.push_back({.workers = n, .seconds = 1 / law.speedup(n)});
    const auto found = scalability_law_of(points);
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->contention, law.contention, 1e-8);
    EXPECT_NEAR(found->coherency, law.coherency, 1e-8);
  }
}

TEST(ScalabilityLawOf, IsNoneOfPointsThatFollowNone) {
  // Slower than one worker; faster than as many; flat and then rising, so that coherency is
  // negative.
  const std::vector<TimePoint> slower{{1, 1}, {2, 1 / 0.5}},
      faster{{2, 1 / 2.1}, {4, 1 / 4.4}, {8, 1 / 9.}}, rising{{2, 1}, {4, 1 / 3.}, {8, 1 / 8.}};
  for (const auto& points : {slower, faster, rising}) EXPECT_FALSE(scalability_law_of(points));
}

TEST(FitScalability, OfNoPointsSlowsNobody) {
  EXPECT_DOUBLE_EQ(fit_scalability({}).speedup(100), 100);
}

TEST(FitScalabilityAndTime, IsFoundFromTimesOfManyWorkersAlone) {
  const ScalabilityLaw law{.contention = 0.02, .coherency = 1e-4};
  std::vector<TimePoint> points;
  for (const double n : {16., 32., 64., 128.}) points.push_back({n, 100 / law.speedup(n)});
  const auto fitted = fit_scalability_and_time(points);
  ASSERT_TRUE(fitted);
  EXPECT_NEAR(fitted->one_worker_seconds, 100, 1e-6);
  EXPECT_NEAR(fitted->law.contention, 0.02, 1e-8);
  EXPECT_NEAR(fitted->law.coherency, 1e-4, 1e-10);
  EXPECT_NEAR(fitted->peak(), std::sqrt(0.98 / 1e-4), 1e-3);
  EXPECT_LT(fitted->misfit, 1e-9);
}

TEST(FitScalabilityAndTime, NeedsTwoNumbersOfWorkers) {
  EXPECT_FALSE(fit_scalability_and_time({}));
  const TimePoint same[] = {{4, 1}, {4, 1.1}};
  EXPECT_FALSE(fit_scalability_and_time(same));
}

}  // namespace
}  // namespace tabane::core
