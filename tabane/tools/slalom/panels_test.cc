#include <gtest/gtest.h>

#include "tabane/tools/slalom/factors.h"

namespace tabane::slalom {
namespace {

TEST(FactorBlock, GivesFactorsWhoseProductIsTheBlock) {
  std::vector<double> space;
  for (int n : {1, 2, 16, 17, 40, 131}) {
    const auto ld = static_cast<std::size_t>(n) + 3;
    std::vector<double> a(ld * static_cast<std::size_t>(n));
    const auto at = [&](std::vector<double>& m, int i, int j) -> double& {
      return m[static_cast<std::size_t>(j) * ld + static_cast<std::size_t>(i)];
    };
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j <= i; ++j) {
        at(a, i, j) = at(a, j, i) = i == j ? -2.0 * n : 1.0 / (1 + (7 * i + 3 * j) % 11);
      }
    }
    std::vector<double> factor = a;
    factor_block(factor.data(), n, ld, space);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j <= i; ++j) {
        double sum = 0;
        for (int k = 0; k <= j; ++k) {
          const double left = k == i ? 1 : at(factor, i, k), right = k == j ? 1 : at(factor, j, k);
          sum += left * at(factor, k, k) * right;
        }
        ASSERT_NEAR(sum, at(a, i, j), 1e-13 * n) << n << ": " << i << " " << j;
      }
    }
  }
}

// By hand: -4 = D1, L21 = 2 / -4, D2 = -3 - 4 / -4.
TEST(FactorBlock, KeepsDOnTheDiagonal) {
  std::vector<double> a{-4, 2, 2, -3}, space;
  factor_block(a.data(), 2, 2, space);
  EXPECT_EQ(a[0], -4);
  EXPECT_EQ(a[1], -0.5);
  EXPECT_EQ(a[3], -2);
}

}  // namespace
}  // namespace tabane::slalom
