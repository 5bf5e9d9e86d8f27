#include "tabane/team/scalability_law.h"

#include <gtest/gtest.h>

#include <vector>

namespace tabane::team {
namespace {

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
      std::vector<SpeedupPoint> points;
      for (const double n : {1, 2, 4, 8, 16}) {
        points.push_back({.workers = n, .speedup = law.speedup(n)});
      }
      const ScalabilityLaw found = fit_scalability(points);
      EXPECT_NEAR(found.contention, contention, 1e-9);
      EXPECT_NEAR(found.coherency, coherency, 1e-9);
    }
  }
}

TEST(FitScalability, TakesOnePointForContention) {
  const std::vector<SpeedupPoint> points{{.workers = 4, .speedup = 2}};
  EXPECT_NEAR(fit_scalability(points).contention, 1.0 / 3, 1e-12);
  EXPECT_EQ(fit_scalability(points).coherency, 0);
}

TEST(FitScalability, NeverGivesANegativeLaw) {
  const std::vector<SpeedupPoint> faster{{2, 2.1}, {4, 4.4}, {8, 9}};
  EXPECT_EQ(fit_scalability(faster).contention, 0);
  EXPECT_EQ(fit_scalability(faster).coherency, 0);
}

TEST(ScalabilityLawOf, IsTheLawThatMadeThePoints) {
  for (const ScalabilityLaw law :
       {ScalabilityLaw{}, {.contention = 1}, {.contention = 0.2, .coherency = 0.1}}) {
    std::vector<SpeedupPoint> points;
    for (const double n : {1, 2, 4, 8}) points.push_back({.workers = n, .speedup = law.speedup(n)});
    const auto found = scalability_law_of(points);
    ASSERT_TRUE(found);
    EXPECT_NEAR(found->contention, law.contention, 1e-8);
    EXPECT_NEAR(found->coherency, law.coherency, 1e-8);
  }
}

TEST(ScalabilityLawOf, IsNoneOfPointsThatFollowNone) {
  // Slower than one worker; faster than as many; flat and then rising, so that coherency is
  // negative.
  const std::vector<SpeedupPoint> slower{{1, 1}, {2, 0.5}}, faster{{2, 2.1}, {4, 4.4}, {8, 9}},
      rising{{2, 1}, {4, 3}, {8, 8}};
  for (const auto& points : {slower, faster, rising}) EXPECT_FALSE(scalability_law_of(points));
}

TEST(FitScalability, OfNoPointsSlowsNobody) {
  EXPECT_DOUBLE_EQ(fit_scalability({}).speedup(100), 100);
}

}  // namespace
}  // namespace tabane::team
