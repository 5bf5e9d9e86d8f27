#include "tabane/studies/pc_cluster/matrix_products.h"

#include <gtest/gtest.h>

namespace tabane::lab {
namespace {

TEST(MatrixProducts, AreTheSameInBothWays) {
  constexpr int kSize = 10;
  MatrixProducts products(12);
  EXPECT_GT(products.dgemm_seconds(kSize), 0);
  const std::vector<double> by_dgemm = products.c();
  EXPECT_GT(products.dgemm_seconds(12), 0);  // leaves something else in C
  EXPECT_GT(products.triple_loop_seconds(kSize), 0);
  for (std::size_t i = 0; i < kSize * kSize; ++i)
    EXPECT_NEAR(products.c()[i], by_dgemm[i], 1e-12 * by_dgemm[i]) << i;
}

}  // namespace
}  // namespace tabane::lab
