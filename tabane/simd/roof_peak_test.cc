#include <gtest/gtest.h>
#include <hwy/highway.h>

#include "tabane/simd/roof.h"
#include "tabane/simd/targets_test.h"

namespace tabane::simd {
namespace {

#if HWY_ARCH_X86
constexpr std::uint64_t kChains = 12;
#else
constexpr std::uint64_t kChains = 16;
#endif

TEST(PeakFma, CountsTwoOperationsAnFmaAndGrowsWithTheIterations) {
  on_every_target([] {
    EXPECT_EQ(peak_fma(0), 0u);
    EXPECT_EQ(peak_fma(1), 2 * kChains * lanes<double>());
    EXPECT_EQ(peak_fma(10), 20 * kChains * lanes<double>());
  });
}

TEST(PeakAdd, DoesHalfTheOperationsOfFma) {
  on_every_target([] { EXPECT_EQ(2 * peak_add(7), peak_fma(7)); });
}

}  // namespace
}  // namespace tabane::simd
