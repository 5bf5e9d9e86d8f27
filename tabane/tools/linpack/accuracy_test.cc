#include "tabane/tools/linpack/accuracy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tabane::linpack {
namespace {

// n x n, column by column.
struct Matrix {
  int n;
  std::vector<double> values;

  double at(std::size_t i, std::size_t j) const {
    return values[j * static_cast<std::size_t>(n) + i];
  }
  double norm() const {
    double most = 0;
    for (std::size_t j = 0; j < static_cast<std::size_t>(n); ++j) {
      double sum = 0;
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) sum += std::abs(at(i, j));
      most = std::max(most, sum);
    }
    return most;
  }
  double estimate() const {
    const auto multiply = [this](std::span<double> x, bool transposed) {
      std::vector<double> product(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        for (std::size_t j = 0; j < x.size(); ++j) {
          product[i] += (transposed ? at(j, i) : at(i, j)) * x[j];
        }
      }
      std::ranges::copy(product, x.begin());
    };
    return estimate_norm(
        n, [&](std::span<double> x) { multiply(x, false); },
        [&](std::span<double> x) { multiply(x, true); });
  }
};

TEST(NormEstimate, IsTheLargestColumnSumByHand) {
  EXPECT_EQ((Matrix{0, {}}).estimate(), 0);
  EXPECT_EQ((Matrix{1, {-3}}).estimate(), 3);
  EXPECT_EQ((Matrix{2, {1, -2, 0, 4}}).estimate(), 4);
  EXPECT_EQ((Matrix{3, {0, 0, 0, 7, -1, 2, 0, 5, 0}}).estimate(), 10);
}

TEST(NormEstimate, IsNeverMoreAndHardlyLess) {
  for (const int n : {2, 5, 20, 60}) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      Matrix matrix{n, std::vector<double>(static_cast<std::size_t>(n * n))};
      RandomSystem(n * n, seed).read(0, 0, matrix.values);
      const double norm = matrix.norm(), estimate = matrix.estimate();
      EXPECT_LE(estimate, norm * (1 + 1e-12)) << n << ", " << seed;
      EXPECT_GE(estimate, norm / 3) << n << ", " << seed;
    }
  }
}

TEST(NormEstimate, SeesColumnsThatCancel) {  // B (1 ... 1) is 0
  const Matrix matrix{4, {1, 1, 1, 1, -1, -1, -1, -1, 1, 1, 1, 1, -1, -1, -1, -1}};
  EXPECT_GE(matrix.estimate(), 4. / 3);
}

TEST(NormEstimate, IsInfiniteWhereNumbersAreNot) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isinf((Matrix{2, {1, 0, 0, nan}}).estimate()));
}

}  // namespace
}  // namespace tabane::linpack
