#include "tabane/tools/matmul/matrix.h"

#include <gtest/gtest.h>

#include <utility>

#include "tabane/tools/matmul/problem.h"

namespace tabane::matmul {
namespace {

TEST(MpMatrix, StartsWithZerosAndOwnsItsCopies) {
  Matrix a(2, 3, 70);
  EXPECT_TRUE(mpfr_zero_p(a.at(1, 2)) && !mpfr_signbit(a.at(1, 2)));
  mpfr_set_d(a.at(1, 2), 2.5, MPFR_RNDN);
  Matrix b = a;
  EXPECT_TRUE(a == b);
  mpfr_set_d(b.at(1, 2), 3, MPFR_RNDN);
  EXPECT_EQ(mpfr_get_d(a.at(1, 2), MPFR_RNDN), 2.5);
  const Matrix c = std::move(b);
  EXPECT_EQ(mpfr_get_d(c.at(1, 2), MPFR_RNDN), 3);
  EXPECT_EQ(mpfr_get_prec(c.at(0, 0)), 70);
}

TEST(MpMatrix, TellsBitsApart) {
  Matrix a(1, 1, 53), b(1, 1, 53);
  mpfr_set_zero(b.at(0, 0), -1);
  EXPECT_FALSE(a == b);
  mpfr_set_nan(a.at(0, 0));
  mpfr_set_nan(b.at(0, 0));
  EXPECT_TRUE(a == b);
  EXPECT_FALSE(Matrix(1, 1, 53) == Matrix(1, 1, 54));
}

TEST(MpMatrix, GoesThroughMessages) {
  Matrix a = random_matrix(5, 6, 130, 2);
  mpfr_set_inf(a.at(3, 4), -1);
  mpfr_set_nan(a.at(2, 2));
  const Matrix part = a.part({1, 5}, {2, 6});
  EXPECT_EQ(part.rows(), 4);
  EXPECT_TRUE(mpfr_inf_p(part.at(2, 2)) && mpfr_signbit(part.at(2, 2)));
  EXPECT_TRUE(mpfr_nan_p(part.at(1, 0)));
  EXPECT_TRUE(mpfr_equal_p(part.at(3, 3), a.at(4, 5)));
}

TEST(MpMatrix, RandomNumbersAreThoseOfTheirSeedAndBelowTheRoot) {
  EXPECT_TRUE(random_matrix(9, 9, 100, 2, 5) == random_matrix(9, 9, 100, 2, 5));
  EXPECT_FALSE(random_matrix(9, 9, 100, 2, 5) == random_matrix(9, 9, 100, 2, 6));
  const Matrix a = random_matrix(40, 40, 100, 3);
  double most = 0;
  for (int i = 0; i < 40; ++i) {
    for (int j = 0; j < 40; ++j) {
      EXPECT_GE(mpfr_sgn(a.at(i, j)), 0);
      most = std::max(most, mpfr_get_d(a.at(i, j), MPFR_RNDN));
    }
  }
  EXPECT_LT(most, 1.7320508076);
  EXPECT_GT(most, 1.7);
}

}  // namespace
}  // namespace tabane::matmul
