#include "tabane/tools/scg/verify.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tabane/comm/launch.h"

namespace tabane::scg {
namespace {

solver::Check check_of(const Problem& problem, const std::vector<double>& u,
                       std::size_t iterations = 10) {
  return comm::launch_result<solver::Check>(
             {.ranks = 1, .transport = comm::TransportKind::shm},
             [&](comm::Comm& comm) {
               const Block block = block_of(problem, {1, 1}, 0);
               System system(problem, block);
               Halo halo(comm, block);
               for (std::size_t i = 0; i < u.size(); ++i) {
                 system.x.row(
                     static_cast<std::ptrdiff_t>(i / problem.columns))[i % problem.columns] = u[i];
               }
               return verify(comm, problem, system, halo, 1e-12, iterations);
             })
      .value();
}

// 4 u - u = h^2 with h = 1 / 3 in one row: u = 1 / 27.
TEST(Verify, PassesTheSolution) {
  const solver::Check check = check_of({.rows = 1, .columns = 2}, {1.0 / 27, 1.0 / 27});
  EXPECT_LT(check.residual, 1e-15);
  EXPECT_TRUE(check.passed());
}

TEST(Verify, FailsAnythingElse) {
  const Problem problem{.rows = 1, .columns = 2};
  const solver::Check close = check_of(problem, {1.0 / 27, (1 + 1e-9) / 27});
  EXPECT_FALSE(close.passed());
  EXPECT_GT(close.residual, 1e-10);
  EXPECT_EQ(check_of(problem, {0, 0}).residual, 1);
  EXPECT_FALSE(check_of(problem, {0, 0}).passed());
  EXPECT_FALSE(check_of(problem, {std::nan(""), 1.0 / 27}).passed());
}

TEST(Verify, AllowsForRoundingNoMoreThanThereIs) {
  const Problem problem{.rows = 100, .columns = 100};
  const double tolerance = check_of(problem, std::vector<double>(10000, 0.07), 900).tolerance;
  EXPECT_GT(tolerance, 2e-12);
  EXPECT_LT(tolerance, 3e-11);
}

TEST(Verify, LeavesRoomForRoundingButNeverForASolutionThatIsNone) {
  Problem problem{.rows = 1, .columns = 2};
  problem.f = {1e-30};
  const solver::Check check = check_of(problem, {1, 1});  // nothing like it
  EXPECT_FALSE(check.passed());
  EXPECT_LE(check.tolerance, 2 * kMostRounding);
}

}  // namespace
}  // namespace tabane::scg
