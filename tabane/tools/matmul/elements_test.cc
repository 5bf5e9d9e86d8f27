#include "tabane/tools/matmul/elements.h"

#include <gtest/gtest.h>

#include "tabane/tools/matmul/matrices_test.h"
#include "tabane/tools/matmul/multiply.h"

namespace tabane::matmul {
namespace {

struct Case {
  Matrix a, b, c;
  PrimeField field{42};
  std::vector<std::uint64_t> sketch;

  Case(Matrix left, Matrix right, Method method)
      : a(std::move(left)), b(std::move(right)), c(a.rows(), b.columns(), 80) {
    Sketch own(field, a.rows(), 0, 2);
    Cost cost;
    multiply_operands({{a}, {b}, 1}, {{&c}, MPFR_RNDU, {}, &own},
                      {.rounding = MPFR_RNDU, .threads = 2, .method = method}, cost);
    sketch = own.rows();
  }
  double wrong() { return verify({{a}, {b}, 1}, {{&c}, MPFR_RNDU}, field, sketch).residual; }
};

constexpr Method kExplicitMethods[] = {Method::residues, Method::integers, Method::sums};

TEST(MpVerify, PassesRightProducts) {
  for (const Method method : kExplicitMethods) {
    EXPECT_EQ(Case(test_matrix(20, 30, 90, 5), test_matrix(30, 25, 90, 5, 2), method).wrong(), 0);
    Matrix a = test_matrix(20, 30, 90, 900), b = test_matrix(30, 25, 90, 900, 2);
    mpfr_set_nan(a.at(3, 4));
    mpfr_set_inf(b.at(1, 2), 1);
    EXPECT_EQ(Case(std::move(a), std::move(b), method).wrong(), 0);
    EXPECT_EQ(Case(Matrix(3, 0, 90), Matrix(0, 4, 90), method).wrong(), 0);
    EXPECT_EQ(Case(Matrix(0, 2, 90), Matrix(2, 4, 90), method).wrong(), 0);
  }
}

TEST(MpVerify, SeesTheLastBitOfAnyElement) {
  for (const Method method : kExplicitMethods) {
    Case product(test_matrix(20, 30, 90, 5), test_matrix(30, 25, 90, 5, 2), method);
    for (int i = 0; i < 20; ++i) {
      for (const int j : {0, 11, 24}) {
        mpfr_nextabove(product.c.at(i, j));
        EXPECT_GE(product.wrong(), 1);
        mpfr_nextbelow(product.c.at(i, j));
      }
    }
    EXPECT_EQ(product.wrong(), 0);
    mpfr_neg(product.c.at(7, 7), product.c.at(7, 7), MPFR_RNDN);
    EXPECT_GE(product.wrong(), 1);
  }
}

TEST(MpVerify, SeesAWrongExactValue) {
  Case product(test_matrix(20, 30, 90, 5), test_matrix(30, 25, 90, 5, 2), Method::residues);
  product.sketch[4] = product.field.add(product.sketch[4], 1);
  EXPECT_EQ(product.wrong(), 1);
}

TEST(MpSketch, CountsBinaryFractionsModuloAPrime) {
  const PrimeField field(7);
  Matrix x(1, 1, 60);
  mpfr_set_d(x.at(0, 0), -0.75, MPFR_RNDN);
  EXPECT_EQ(field.add(field.multiply(field.of(x.at(0, 0)), 4), 3), 0U);
  for (const long exponent : {0L, 5L, -5L, 100000L, -100000L}) {
    EXPECT_EQ(field.multiply(field.power_of_two(exponent), field.power_of_two(-exponent)), 1U);
  }
}

}  // namespace
}  // namespace tabane::matmul
