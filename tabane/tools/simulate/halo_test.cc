#include "tabane/tools/simulate/halo.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"
#include "tabane/core/text_of_error_test.h"

namespace tabane::simulate {
namespace {

// By hand: each of 2 x 2 ranks sends to two neighbours, 2 (9 + 0.067 * 400) of occupancy, takes two
// messages that are there, 2 (9 + 0.13 * 400), computes 2500 points, and sums up along its row and
// its column, 2 (7 + 8).
TEST(Halo, TakesAsLongAsItsParts) {
  const comm::SimulatedRun run =
      simulate_halo("ap1000:2x2", "", {.side = 100, .steps = 3, .sums = 1});
  const double computing = 70 + 0.585 * 24 * 2500, messages = 2 * 35.8 + 2 * 61;
  EXPECT_EQ(run.ranks.size(), 4);
  EXPECT_NEAR(1e6 * run.seconds / 3, computing + messages + 30, 1e-6);
  EXPECT_NEAR(1e6 * run.path[comm::Activity::compute] / 3, computing, 1e-6);
  EXPECT_NEAR(1e6 * run.path[comm::Activity::collective] / 3, 30, 1e-6);
}

// An iteration of scaled conjugate gradients on 16 x 16 cells of the AP1000, as published: seconds
// and iterations. The solver has two sweeps for the one here; it is fitted to the first two rows.
TEST(Halo, IsNearWhatTheAp1000Took) {
  const auto predicted = [](int side) {
    return simulate_halo("ap1000:16x16", "", {.side = side, .steps = 2}).seconds / 2;
  };
  EXPECT_NEAR(predicted(400) / (8.32 / 894), 1, 0.02);
  EXPECT_NEAR(predicted(200) / (1.26 / 446), 1, 0.05);
  EXPECT_NEAR(predicted(100) / (0.251 / 222), 1, 0.12);
}

TEST(Halo, ChangesWithTheMachine) {
  const Halo halo{.side = 64, .steps = 1};
  const double as_it_is = simulate_halo("ap1000:8x8", "", halo).seconds;
  EXPECT_LT(simulate_halo("ap1000:8x8", "setup=0.5", halo).seconds, as_it_is);
  EXPECT_GT(simulate_halo("ap1000:8x8", "byte=2", halo).seconds, as_it_is);
}

TEST(Halo, NeedsAPointForEachRank) {
  const auto of = [](int side) {
    return core::text_of_error<core::UsageError>(
        [&] { simulate_halo("ap1000:4x8", "", {.side = side, .steps = 1}); });
  };
  EXPECT_EQ(of(7), "a mesh of 7 points a side is too small for 4x8 ranks: give at least 8");
  EXPECT_EQ(of(8), "");
}

}  // namespace
}  // namespace tabane::simulate
