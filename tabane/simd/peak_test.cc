#include "tabane/simd/peak.h"

#include <gtest/gtest.h>

#include "tabane/simd/targets_test.h"

namespace tabane::simd {
namespace {

TEST(PeakFma, CountsTwoOperationsAnFmaAndGrowsWithTheIterations) {
  on_every_target([] {
    EXPECT_EQ(peak_fma<double>(0), 0u);
    const std::uint64_t one = peak_fma<double>(1);
    EXPECT_EQ(one % (2 * lanes<double>()), 0u);
    EXPECT_GT(one, 0u);
    EXPECT_EQ(peak_fma<double>(10), 10 * one);
    EXPECT_EQ(peak_fma<float>(1) * lanes<double>(), one * lanes<float>());
  });
}

TEST(PeakAdd, DoesHalfTheOperationsOfFma) {
  on_every_target([] {
    EXPECT_EQ(2 * peak_add<double>(7), peak_fma<double>(7));
    EXPECT_EQ(2 * peak_add<float>(7), peak_fma<float>(7));
  });
}

}  // namespace
}  // namespace tabane::simd
