#include "tabane/tools/matmul/plan.h"

#include <gtest/gtest.h>

#include <string>

#include "tabane/core/text_of_error_test.h"
#include "tabane/tools/matmul/matrices_test.h"

namespace tabane::matmul {
namespace {

TEST(MpPlan, MakesIntegersNoWiderThanTheirSetBits) {
  Matrix a(1, 3, 500);
  mpfr_set_ui(a.at(0, 0), 5, MPFR_RNDN);  // 101
  mpfr_set_d(a.at(0, 1), -0.25, MPFR_RNDN);
  const Operands operands{{a}, {a}, 1};
  const std::vector<ExponentSpan> spans = spans_of(Factor::a, operands, all_terms(3));
  EXPECT_EQ(spans[0].low, -2);
  EXPECT_EQ(spans[0].high, 3);
  EXPECT_TRUE(spans[0].finite);
}

TEST(MpPlan, TakesFewLinesApartThatAreMuchWiderThanOthers) {
  constexpr int kN = 100;
  Matrix a = test_matrix(kN, kN, 200, 1);
  const Matrix b = test_matrix(kN, kN, 200, 1, 2);
  mpfr_mul_2si(a.at(7, 5), a.at(7, 5), -40000, MPFR_RNDN);
  mpfr_set_nan(a.at(9, 9));
  const ProductPlan plan = make_plan({{a}, {b}, 1}, 200, Method::automatic);
  EXPECT_EQ(plan.outlier_rows, (std::vector<int>{7, 9}));
  EXPECT_TRUE(plan.outlier_columns.empty());
  EXPECT_LT(plan.groups[0].a_width, 250);
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
  const ProductPlan plan = make_plan({{a}, {b}, 1}, 200, Method::automatic);
  EXPECT_EQ(plan.groups.size(), 1U);
  EXPECT_LT(plan.groups[0].a_width, 250);
  EXPECT_LT(plan.groups[0].b_width, 250);
}

TEST(MpBlocks, HoldAllIfMemoryAllows) {
  const Blocks blocks = choose_blocks({100, 80, 10, 1000, 40, 8, 0, 1, 1e9});
  EXPECT_EQ(blocks.rows, 100U);
  EXPECT_EQ(blocks.columns, 80U);
  EXPECT_EQ(blocks.primes, 10U);
  EXPECT_EQ(blocks.tile_rows * blocks.tile_columns, 8000U);
  EXPECT_EQ(blocks.bytes, 180 * 1000 * 10 + 8000 * 48);
}

TEST(MpBlocks, TakePrimesInTurnsOfOneSize) {
  // 800 MB for all 48, in turns of at most 256 MiB
  const Blocks blocks = choose_blocks({1000, 1000, 48, 8000, 192, 8, 0, 1, 1e10});
  EXPECT_EQ(blocks.rows, 1000U);
  EXPECT_EQ(blocks.primes, 16U);
}

TEST(MpBlocks, HaveATileForEachThreadAndStayBelowTheLimit) {
  for (const int threads : {1, 2, 7}) {
    for (const double memory : {5e4, 1e5, 3e5, 1e6}) {
      const Blocks blocks = choose_blocks({300, 40, 20, 1000, 80, 8, 100, threads, memory});
      EXPECT_LE(blocks.bytes, memory);
      const std::size_t down = (blocks.rows + blocks.tile_rows - 1) / blocks.tile_rows;
      const std::size_t across = (blocks.columns + blocks.tile_columns - 1) / blocks.tile_columns;
      EXPECT_GE(down * across, static_cast<std::size_t>(threads));
    }
  }
}

TEST(MpBlocks, SayWhatWouldSuffice) {
  const std::string refusal = core::text_of_error<core::UsageError>([] {
    choose_blocks({10, 10, 5, 1000, 40, 8, 0, 1, 500});
  });
  EXPECT_NE(refusal.find("take 2 KiB"), std::string::npos) << refusal;
}

}  // namespace
}  // namespace tabane::matmul
