#include "tabane/tools/scg/equation.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tabane/simd/targets_test.h"

namespace tabane::scg {
namespace {

// Whole numbers of at most 53 bits.
std::vector<double> whole_numbers(std::size_t count, std::uint64_t seed) {
  std::vector<double> values = simd::some_values<double>(count, seed);
  for (double& value : values) value = std::nearbyint(value * 0x1p53);
  return values;
}

__extension__ typedef __int128 Wide;
Wide exact(Twice a) { return static_cast<Wide>(a.hi) + static_cast<Wide>(a.lo); }

TEST(Twice, SumsAndProductsOfDoublesAreExact) {
  const std::vector<double> a = whole_numbers(1000, 1), b = whole_numbers(1000, 2);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double small = std::nearbyint(b[i] / 0x1p30);
    EXPECT_TRUE(exact(exact_sum(a[i], small)) ==
                static_cast<Wide>(a[i]) + static_cast<Wide>(small));
    EXPECT_TRUE(exact(exact_product(a[i], b[i])) ==
                static_cast<Wide>(a[i]) * static_cast<Wide>(b[i]));
  }
}

TEST(Twice, KeepsWhatCancellationLeaves) {
  const Twice third = Twice(1) / Twice(3);
  EXPECT_EQ(rounded(third), 1.0 / 3);
  EXPECT_LT(std::fabs(rounded(third * Twice(3) - Twice(1))), 0x1p-100);
  EXPECT_EQ(rounded(Twice(1) + Twice(0x1p-80) - Twice(1)), 0x1p-80);
  EXPECT_EQ(rounded(Twice(1e15, 0.0625) - Twice(1e15, -0.0625)), 0.125);
}

TEST(Twice, DividesWhatItMultiplies) {
  const std::vector<double> a = whole_numbers(1000, 3), b = whole_numbers(1000, 4);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Twice x = Twice(a[i]) + Twice(0x1p-70 * b[i]), y = Twice(b[i]) + Twice(0x1p-60 * a[i]);
    EXPECT_LE(std::fabs(rounded(x / y * y - x)), 0x1p-100 * std::fabs(x.hi));
    EXPECT_LE(std::fabs(rounded(x * y / y - x)), 0x1p-100 * std::fabs(x.hi));
  }
}

}  // namespace
}  // namespace tabane::scg
