#include "tabane/tools/matmul/plan.h"

#include <gtest/gtest.h>

#include "tabane/tools/matmul/matrices_test.h"

namespace tabane::matmul {
namespace {

TEST(MpPlan, MakesIntegersNoWiderThanTheirSetBits) {
  Matrix a(1, 3, 500);
  mpfr_set_ui(a.at(0, 0), 5, MPFR_RNDN);  // 101
  mpfr_set_d(a.at(0, 1), -0.25, MPFR_RNDN);
  const Operands operands{{a}, {a}, 1};
  const std::vector<Line> lines = lines_of_a(operands, all_terms(3));
  EXPECT_EQ(lines[0].low, -2);
  EXPECT_EQ(lines[0].high, 3);
  EXPECT_TRUE(lines[0].finite);
}

TEST(MpPlan, TakesFewLinesApartThatAreMuchWiderThanOthers) {
  constexpr int kN = 100;
  Matrix a = test_matrix(kN, kN, 200, 1);
  const Matrix b = test_matrix(kN, kN, 200, 1, 2);
  mpfr_mul_2si(a.at(7, 5), a.at(7, 5), -40000, MPFR_RNDN);
  mpfr_set_nan(a.at(9, 9));
  const Plan plan = make_plan({{a}, {b}, 1}, 200, Method::automatic);
  EXPECT_EQ(plan.rows_apart, (std::vector<int>{7, 9}));
  EXPECT_TRUE(plan.columns_apart.empty());
  EXPECT_LT(plan.pieces[0].a_width, 250);
}

TEST(MpPlan, ShiftsWhatFactorsShare) {
  constexpr int kN = 100;
  Matrix a = test_matrix(kN, kN, 200, 1), b = test_matrix(kN, kN, 200, 1, 2);
  for (int i = 0; i < kN; ++i) {
    for (int k = 0; k < kN; ++k) {
      mpfr_mul_2si(a.at(i, k), a.at(i, k), 50 * k, MPFR_RNDN);
      mpfr_mul_2si(b.at(k, i), b.at(k, i), -50 * k, MPFR_RNDN);
    }
  }
  const Plan plan = make_plan({{a}, {b}, 1}, 200, Method::automatic);
  EXPECT_EQ(plan.pieces.size(), 1U);
  EXPECT_LT(plan.pieces[0].a_width, 250);
  EXPECT_LT(plan.pieces[0].b_width, 250);
}

}  // namespace
}  // namespace tabane::matmul
