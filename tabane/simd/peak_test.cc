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

TEST(MemoryRoofs, CountTheBytesOfAllPasses) {
  std::vector<double> x(99), y(99), z(99);
  EXPECT_EQ(read(x), 99u * 8);
  EXPECT_EQ(write(y, 3), 3u * 99 * 8);
  EXPECT_EQ(read_write(x, y, 5), 2u * 5 * 99 * 8);
  EXPECT_EQ(read2_write(x, y, z, 5), 3u * 5 * 99 * 8);
  EXPECT_EQ(read({}), 0u);
}

TEST(MemoryRoofs, WriteExactlyTheirArrays) {
  on_every_target([] {
    for (const std::size_t n : awkward_sizes()) {
      SCOPED_TRACE(n);
      const auto x = some_values<double>(n, 1);
      Placed<double> y(some_values<double>(n, 2), n % 5), z(some_values<double>(n, 3), n % 7);
      read(x);
      read_write(x, y.span(), 2);
      EXPECT_EQ(y.values(), x);
      read2_write(x, y.span(), z.span());  // x OR x
      EXPECT_EQ(z.values(), x);
      write(y.span(), 2);
      EXPECT_EQ(y.values(), std::vector<double>(n, 0.0));
    }
  });
}

}  // namespace
}  // namespace tabane::simd
