#include <gtest/gtest.h>

#include "tabane/simd/roof.h"
#include "tabane/simd/targets_test.h"

namespace tabane::simd {
namespace {

TEST(PeakFma, CountsTwoOperationsAnFmaAndGrowsWithTheIterations) {
  on_every_target([] {
    EXPECT_EQ(peak_fma(0), 0u);
    const std::uint64_t one = peak_fma(1);
    EXPECT_EQ(one % (2 * lanes<double>()), 0u);
    EXPECT_GT(one, 0u);
    EXPECT_EQ(peak_fma(10), 10 * one);
  });
}

TEST(PeakAdd, DoesHalfTheOperationsOfFma) {
  on_every_target([] { EXPECT_EQ(2 * peak_add(7), peak_fma(7)); });
}

}  // namespace
}  // namespace tabane::simd
