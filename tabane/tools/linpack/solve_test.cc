#include "tabane/tools/linpack/solve.h"

#include <gtest/gtest.h>

#include <string>

#include "tabane/comm/launch.h"
#include "tabane/core/text_of_error_test.h"

namespace tabane::linpack {
namespace {

TEST(Operations, AreCountedAsTheBenchmarkDoes) { EXPECT_EQ(operations(6), 144 + 54); }

TEST(Memory, OfTheLargestThatFitsSuffices) {
  for (const comm::GridShape grid : {comm::GridShape{1, 1}, comm::GridShape{3, 3}}) {
    const int n = largest_that_fits(1e9, 64, grid);
    EXPECT_GT(n, 10000);
    EXPECT_LE(bytes_needed(n, 64, grid.rows, grid.columns), 1e9);
    EXPECT_GT(bytes_needed(n + 1, 64, grid.rows, grid.columns), 1e9);
    EXPECT_NO_THROW(require_memory(n, 64, grid, 1e9));
    const std::string refusal =
        core::text_of_error<core::UsageError>([&] { require_memory(n + 1, 64, grid, 1e9); });
    EXPECT_NE(refusal.find("largest n that fits is " + std::to_string(n)), std::string::npos)
        << refusal;
  }
}

TEST(Memory, OfAMatrixFromAFileCounts) {
  EXPECT_NO_THROW(require_memory(1000, 64, {1, 1}, 16e6));
  EXPECT_THROW(require_memory(1000, 64, {1, 1}, 16e6, true), core::UsageError);
  const int n = largest_that_fits(1e9, 64, {1, 1}, true);
  EXPECT_GT(n, 5000);
  EXPECT_NO_THROW(require_memory(n, 64, {1, 1}, 1e9, true));
  // The file alone would be larger than the memory: that says nothing of the n that fits.
  EXPECT_NE(core::text_of_error<core::UsageError>([] {
              require_memory(100000000, 64, {1, 1}, 1e9, true);
            }).find("the largest n that fits is " + std::to_string(n)),
            std::string::npos);
}

TEST(DefaultSize, KeepsToAnEighthOfTheMemory) {
  EXPECT_EQ(default_size(2, 1e12), 8000);
  EXPECT_LE(8.0 * default_size(2, 1e8) * default_size(2, 1e8), 1e8 / 8);
  EXPECT_GE(default_size(1, 0), 0);
}

TEST(DefaultBlock, GrowsWithTheSizeAndIsPositive) {
  int last = 1;
  for (int n = 0; n < 50000; n += 100) {
    const int block = default_block(n, {1, 2});
    EXPECT_GE(block, last);
    last = block;
  }
}

// One rank only computes: 0.21 us an operation, of which the benchmark counts 5/6 n^2 too many.
TEST(SimulatedTime, CountsEachOperationOnce) {
  constexpr int kSize = 300;
  for (const Messages messages : kAllMessages) {
    comm::launch({.machine = "ap1000:1x1"}, [&](comm::Comm& comm) {
      const SolvedSystem answer = solve(comm, RandomSystem(kSize, 1), {.messages = messages});
      EXPECT_TRUE(answer.solution.check.passed());
      EXPECT_NEAR(answer.solution.seconds / 0.21e-6 / operations(kSize), 1, 0.01);
    });
  }
}

}  // namespace
}  // namespace tabane::linpack
