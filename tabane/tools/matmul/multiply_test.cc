#include "tabane/tools/matmul/multiply.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <string>

#include "tabane/core/random.h"
#include "tabane/core/text_of_error_test.h"
#include "tabane/tools/matmul/matrices_test.h"
#include "tabane/tools/matmul/operands.h"

namespace tabane::matmul {
namespace {

constexpr Method kMethods[] = {Method::automatic, Method::residues, Method::integers, Method::sums};

void expect_all(const Matrix& a, const Matrix& b, mpfr_prec_t bits, const Matrix& expected,
                mpfr_rnd_t rounding, const std::string& what) {
  for (const Method method : kMethods) {
    const Matrix c = multiply(a, b, bits, {.rounding = rounding, .method = method});
    EXPECT_TRUE(c == expected) << what << ", method " << static_cast<int>(method) << ", rounding "
                               << mpfr_print_rnd_mode(rounding);
  }
}

void expect_product(const Matrix& a, const Matrix& b, mpfr_prec_t bits, const std::string& what) {
  for (const mpfr_rnd_t rounding : kRoundings) {
    expect_all(a, b, bits, by_integers_of_gmp(a, b, bits, rounding), rounding, what);
  }
}

Matrix of(int rows, int columns, mpfr_prec_t bits,
          const std::function<void(int, int, mpfr_ptr)>& set) {
  Matrix m(rows, columns, bits);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) set(i, j, m.at(i, j));
  }
  return m;
}

Matrix numbers(int rows, int columns, std::initializer_list<double> values) {
  const auto* next = values.begin();
  return of(rows, columns, 53, [&](int, int, mpfr_ptr x) { mpfr_set_d(x, *next++, MPFR_RNDN); });
}

TEST(MpMultiply, GivesWhatIsWorkedOutByHand) {
  const Matrix c = multiply(numbers(2, 2, {1, -2, 0.5, 4}), numbers(2, 2, {3, 0, -1, 0.25}), 53);
  EXPECT_EQ(mpfr_get_d(c.at(0, 0), MPFR_RNDN), 5);
  EXPECT_EQ(mpfr_get_d(c.at(0, 1), MPFR_RNDN), -0.5);
  EXPECT_EQ(mpfr_get_d(c.at(1, 0), MPFR_RNDN), -2.5);
  EXPECT_EQ(mpfr_get_d(c.at(1, 1), MPFR_RNDN), 1);
}

// A figure of x86-64, which any other processor has to have, too.
TEST(MpMultiply, HasTheSameBitsOnEveryProcessor) {
  const Matrix a = random_matrix(20, 30, 300, 2), b = random_matrix(30, 20, 300, 2, 2);
  for (const Method method : kMethods) {
    std::uint64_t digest = 0;
    for (const std::uint64_t word : multiply(a, b, 300, {.method = method}).pack({0, 20}, {0, 20}))
      digest = core::mix(digest ^ word);
    EXPECT_EQ(digest, 7697638888756949173u) << "method " << static_cast<int>(method);
  }
}

TEST(MpMultiply, IsExactForAllSmallSizes) {
  for (int n = 0; n <= 70; n += n < 12 ? 1 : 29) {
    expect_product(test_matrix(n, n, 100, 3), test_matrix(n, n, 100, 3, 2), 100,
                   "n = " + std::to_string(n));
  }
}

TEST(MpMultiply, IsExactForAnyShape) {
  for (const auto& [m, k, n] : {std::array{1, 70, 1},
                                {70, 1, 70},
                                {3, 64, 5},
                                {17, 2, 33},
                                {0, 5, 3},
                                {5, 3, 0},
                                {2, 0, 3}}) {
    expect_product(test_matrix(m, k, 200, 5), test_matrix(k, n, 200, 5, 2), 150,
                   std::to_string(m) + " x " + std::to_string(k) + " x " + std::to_string(n));
  }
}

TEST(MpMultiply, IsExactForMoreTermsThanOneProductOfDoublesTakes) {
  const Matrix a = test_matrix(3, 5000, 120, 4), b = test_matrix(5000, 2, 120, 4, 2);
  expect_product(a, b, 120, "5000 terms");
}

TEST(MpMultiply, IsExactForAnyPrecision) {
  for (const mpfr_prec_t bits : {2, 24, 53, 63, 64, 65, 127, 128, 500, 1024, 1537, 4096, 10000}) {
    const int n = bits > 2000 ? 6 : 25;
    expect_product(test_matrix(n, n, bits, 2), test_matrix(n, n, bits, 2, 2), bits,
                   std::to_string(bits) + " bits");
  }
}

TEST(MpMultiply, TakesNumbersOfOtherPrecisionsThanTheResult) {
  for (const mpfr_prec_t bits : {2, 40, 300}) {
    expect_product(test_matrix(9, 8, 31, 2), test_matrix(8, 10, 700, 2, 2), bits,
                   std::to_string(bits) + " bits");
  }
}

Matrix graded(const Matrix& m, long by_row, long by_column) {
  return of(m.rows(), m.columns(), m.bits(), [&](int i, int j, mpfr_ptr to) {
    mpfr_mul_2si(to, m.at(i, j), by_row * i + by_column * j, MPFR_RNDN);
  });
}

TEST(MpMultiply, IsExactForGradedMatrices) {
  constexpr int kN = 28;
  const Matrix x = test_matrix(kN, kN, 90, 1), y = test_matrix(kN, kN, 90, 1, 2);
  expect_product(graded(x, 500, 0), graded(y, 0, -300), 90, "by row and column of the result");
  expect_product(graded(x, 0, 400), graded(y, -400, 0), 90, "terms that are as large as others");
  expect_product(graded(x, 0, -150), graded(y, 0, 0), 90, "terms of falling size");
  expect_product(graded(x, 0, -3000), graded(y, 0, 7), 90, "terms of falling size, far apart");
  expect_product(test_matrix(kN, kN, 90, 2000), y, 90, "exponents without an order");
  Matrix outlier = x;
  mpfr_mul_2si(outlier.at(7, 9), outlier.at(7, 9), -20000, MPFR_RNDN);
  expect_product(outlier, y, 90, "one number is tiny");
}

// Products of doubles from two threads must not meet in OpenBLAS's working memory.
TEST(MpMultiply, IsTheSameWithSeveralThreadsAtOnce) {
  constexpr int kN = 200;
  const Matrix x = test_matrix(kN, kN, 256, 1), y = test_matrix(kN, kN, 256, 1, 2);
  const Matrix one = multiply(x, y, 256, {.method = Method::residues});
  for (int run = 0; run < 12; ++run) {
    EXPECT_TRUE(multiply(x, y, 256, {.threads = 2, .method = Method::residues}) == one);
  }
}

// Small matrices are multiplied by a loop over integers, which shifts terms, too.
TEST(MpMultiply, IsExactForSmallGradedMatrices) {
  for (int n = 2; n <= 12; n += 2) {
    for (const long step : {60L, 180L, 400L}) {
      const Matrix x = test_matrix(n, n, 53, 1), y = test_matrix(n, n, 53, 1, 2);
      expect_product(graded(x, 0, step), graded(y, -step, 0), 53, "shifted terms");
    }
  }
}

// A term whose numbers are zeros but for an infinity has no size, and still counts.
TEST(MpMultiply, KeepsInfinitiesOfTermsWithoutSize) {
  constexpr int kN = 24;
  Matrix x = graded(test_matrix(kN, kN, 53, 1), 0, -3000);
  const Matrix y = test_matrix(kN, kN, 53, 1, 2);
  for (int i = 0; i < kN; ++i) mpfr_set_zero(x.at(i, 3), 1);
  mpfr_set_inf(x.at(5, 3), 1);
  const Matrix c = multiply(x, y, 53, {.method = Method::residues});
  const Matrix sums = multiply(x, y, 53, {.method = Method::sums});
  EXPECT_TRUE(mpfr_inf_p(c.at(5, 0)) != 0);
  EXPECT_TRUE(c == sums);
}

TEST(MpMultiply, SplitsTermsOfFallingSizeIntoGroups) {
  constexpr int kN = 64;
  const Matrix y = test_matrix(kN, kN, 90, 1, 2);
  const Matrix x = graded(test_matrix(kN, kN, 90, 1), 0, -500);
  Cost cost;
  const Matrix c = multiply(x, y, 90, {.method = Method::residues}, &cost);
  EXPECT_TRUE(c == by_integers_of_gmp(x, y, 90, MPFR_RNDN));
  EXPECT_GT(cost.groups, 1);
}

TEST(MpMultiply, IsExactWhereTermsCancel) {
  constexpr int kN = 30;
  const auto hilbert = of(kN, kN, 300, [](int i, int j, mpfr_ptr x) {
    mpfr_set_ui(x, 1, MPFR_RNDN);
    mpfr_div_ui(x, x, static_cast<unsigned long>(i + j + 1), MPFR_RNDN);
  });
  const auto alternating = of(kN, kN, 300, [](int i, int j, mpfr_ptr x) {
    mpfr_set_si(x, (i + j) % 2 == 0 ? 1 : -1, MPFR_RNDN);
    mpfr_div_ui(x, x, static_cast<unsigned long>(2 * i + j + 1), MPFR_RNDN);
  });
  expect_product(hilbert, alternating, 64, "Hilbert");
  // huge - huge + 1
  const auto huge = of(4, 3, 60, [](int, int k, mpfr_ptr x) {
    mpfr_set_si_2exp(x, k == 1 ? -1 : 1, k == 2 ? 0 : 5000, MPFR_RNDN);
  });
  const auto ones = of(3, 5, 60, [](int, int, mpfr_ptr x) { mpfr_set_ui(x, 1, MPFR_RNDN); });
  expect_product(huge, ones, 60, "huge numbers cancel");
  EXPECT_EQ(mpfr_get_d(multiply(huge, ones, 60).at(2, 2), MPFR_RNDN), 1);
}

TEST(MpMultiply, RoundsHalvesAndWhatIsJustBeside) {
  // 1 + 2^-10 + 2^-k in 10 bits: a half, or a little more.
  for (const long tiny : {-4000L, -21L, -12L}) {
    for (const double sign : {1.0, -1.0, 0.0}) {
      Matrix a = numbers(1, 3, {1, 0x1p-10, 1}), b = numbers(3, 1, {1, 1, sign});
      mpfr_mul_2si(b.at(2, 0), b.at(2, 0), tiny, MPFR_RNDN);
      expect_product(a, b, 10, "beside a half");
    }
  }
}

TEST(MpMultiply, KeepsZerosSignsInfinitiesAndNan) {
  constexpr int kN = 7;
  const double values[] = {0.0, -0.0, 1.5, -2.0, INFINITY, -INFINITY, NAN, 0.0, 3.0};
  for (const int kinds : {2, 4, 6, 7}) {  // zeros; and numbers; and infinities; and NaN
    for (std::uint64_t seed = 1; seed < 30; ++seed) {
      std::uint64_t index = 0;
      const auto some = [&](int, int, mpfr_ptr x) {
        const std::uint64_t draw = core::random_bits(seed, index++);
        const bool usual = kinds > 4 && draw % 16 != 0;
        const auto which = (draw >> 8) % static_cast<std::uint64_t>(usual ? 4 : kinds);
        mpfr_set_d(x, values[which], MPFR_RNDN);
      };
      const Matrix a = of(kN, kN, 53, some), b = of(kN, kN, 53, some);
      for (const mpfr_rnd_t rounding : kRoundings) {
        expect_all(a, b, 53, by_mpfr_dot(a, b, 53, rounding), rounding,
                   std::to_string(kinds) + " kinds, seed " + std::to_string(seed));
      }
    }
  }
}

TEST(MpMultiply, OverflowsAndUnderflowsAsTheCallersRangeSays) {
  const ExponentRange before;
  mpfr_set_emin(-40);
  mpfr_set_emax(40);
  const Matrix a = test_matrix(10, 3, 70, 30), b = test_matrix(3, 10, 70, 30, 2);
  for (const mpfr_rnd_t rounding : kRoundings) {
    expect_all(a, b, 70, by_integers_of_gmp(a, b, 70, rounding), rounding, "narrow range");
  }
  for (const int threads : {1, 3}) {
    EXPECT_TRUE(multiply(a, b, 70, {.threads = threads, .method = Method::residues}) ==
                by_integers_of_gmp(a, b, 70, MPFR_RNDN));
  }
  EXPECT_EQ(mpfr_get_emax(), 40);
  mpfr_set_emin(before.least);
  mpfr_set_emax(before.most);
}

TEST(MpMultiply, HoldsAtTheLimitsOfExponents) {
  const WidestRange widest;
  const mpfr_exp_t most = mpfr_get_emax(), least = mpfr_get_emin();
  // (top top - top top + small small) with products that no number can hold.
  for (const mpfr_exp_t exponent : {most, least}) {
    Matrix a = numbers(2, 2, {0.75, 0.5, 0.625, 0.75}), b = numbers(2, 2, {0.5, 0.75, -0.75, 0.5});
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) {
        mpfr_set_exp(a.at(i, j), mpfr_get_exp(a.at(i, j)) + exponent - (exponent > 0 ? 0 : -3));
        mpfr_set_exp(b.at(i, j), mpfr_get_exp(b.at(i, j)) - exponent / 2);
      }
    }
    Matrix plain_a = numbers(2, 2, {0.75, 0.5, 0.625, 0.75});
    Matrix plain_b = numbers(2, 2, {0.5, 0.75, -0.75, 0.5});
    Matrix expected = multiply(plain_a, plain_b, 53, {.method = Method::sums});
    const mpfr_exp_t shift = exponent - (exponent > 0 ? 0 : -3) - exponent / 2;
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) {
        mpfr_mul_2si(expected.at(i, j), expected.at(i, j), shift, MPFR_RNDN);
      }
    }
    expect_all(a, b, 53, expected, MPFR_RNDN, "exponents near the limit");
  }
}

TEST(MpMultiply, GivesComplexProducts) {
  for (const auto& [m, k, n] : {std::array{1, 1, 1}, {9, 12, 7}, {0, 3, 2}, {40, 40, 40}}) {
    for (const mpfr_rnd_t rounding : kRoundings) {
      const ComplexMatrix a{test_matrix(m, k, 150, 4, 1), test_matrix(m, k, 150, 4, 2)};
      const ComplexMatrix b{test_matrix(k, n, 150, 4, 3), test_matrix(k, n, 150, 4, 4)};
      // (re -im; im re) times (re; im)
      Matrix left(2 * m, 2 * k, 150), right(2 * k, n, 150);
      for (int i = 0; i < m; ++i) {
        for (int t = 0; t < k; ++t) {
          mpfr_set(left.at(i, t), a.re.at(i, t), MPFR_RNDN);
          mpfr_neg(left.at(i, k + t), a.im.at(i, t), MPFR_RNDN);
          mpfr_set(left.at(m + i, t), a.im.at(i, t), MPFR_RNDN);
          mpfr_set(left.at(m + i, k + t), a.re.at(i, t), MPFR_RNDN);
        }
      }
      for (int t = 0; t < k; ++t) {
        for (int j = 0; j < n; ++j) {
          mpfr_set(right.at(t, j), b.re.at(t, j), MPFR_RNDN);
          mpfr_set(right.at(k + t, j), b.im.at(t, j), MPFR_RNDN);
        }
      }
      const Matrix expected = by_integers_of_gmp(left, right, 120, rounding);
      for (const Method method : kMethods) {
        const ComplexMatrix c = multiply(a, b, 120, {.rounding = rounding, .method = method});
        EXPECT_TRUE(c.re == expected.part({0, m}, {0, n})) << static_cast<int>(method);
        EXPECT_TRUE(c.im == expected.part({m, 2 * m}, {0, n})) << static_cast<int>(method);
      }
    }
  }
}

TEST(MpMultiply, GivesTheSameBitsWithThreadsAndWithLittleMemory) {
  const Matrix a = random_matrix(50, 40, 200, 2), b = random_matrix(40, 60, 200, 3);
  const Matrix expected = by_integers_of_gmp(a, b, 200, MPFR_RNDN);
  for (const int threads : {1, 2, 5}) {
    for (const double memory : {60e3, 200e3, 1e9}) {
      Cost cost;
      EXPECT_TRUE(multiply(a, b, 200,
                           {.threads = threads, .memory = memory, .method = Method::residues},
                           &cost) == expected)
          << threads << " threads, " << memory << " bytes";
      EXPECT_LE(cost.bytes, memory);
    }
  }
}

TEST(MpMultiply, TakesResiduesWhereMatricesAreLargeAndIntegersWhereTheyAreSmall) {
  Cost cost;
  multiply(random_matrix(4, 4, 128, 2), random_matrix(4, 4, 128, 3), 128, {}, &cost);
  EXPECT_EQ(cost.method, Method::integers);
  multiply(random_matrix(120, 120, 512, 2), random_matrix(120, 120, 512, 3), 512, {}, &cost);
  EXPECT_EQ(cost.method, Method::residues);
  EXPECT_GT(cost.primes, 40);
}

TEST(MpMultiply, RefusesWhatCannotBeMeant) {
  const auto expect_refused = [](const std::function<void()>& call, const std::string& part) {
    const std::string refusal = core::text_of_error<core::UsageError>(call);
    EXPECT_NE(refusal.find(part), std::string::npos) << refusal << "\nlacks: " << part;
  };
  const Matrix a(2, 3, 64), b(4, 2, 64), c(3, 2, 64);
  expect_refused([&] { multiply(a, b, 64); }, "2 x 3 matrix cannot be multiplied by a 4 x 2");
  expect_refused([&] { multiply(a, c, 1); }, "2 to 1000000 bits, not 1");
  expect_refused([&] { multiply(a, c, 1000000000); }, "2 to 1000000 bits");
  expect_refused([&] { multiply(a, c, 64, {.rounding = MPFR_RNDA}); }, "RNDN");
  expect_refused([&] { multiply(a, c, 64, {.threads = 0}); }, "1 to 64");
  expect_refused([&] { Matrix(-1, 2, 64); }, "0 to 100000");
  expect_refused([&] { multiply(ComplexMatrix{a, c}, ComplexMatrix{c, c}, 64); }, "one shape");
  const Matrix x = random_matrix(50, 50, 200, 2);
  expect_refused([&] { multiply(x, x, 200, {.memory = 1000, .method = Method::residues}); },
                 "one row and one column take");
}

TEST(TripleLoop, RoundsTwiceATerm) {
  const Matrix a = random_matrix(70, 65, 128, 2), b = random_matrix(65, 80, 128, 3);
  for (const mpfr_rnd_t rounding : kRoundings) {
    Matrix c(70, 80, 128), product(1, 1, 128);
    for (int k = 0; k < 65; ++k) {  // term by term of all elements
      for (int i = 0; i < 70; ++i) {
        for (int j = 0; j < 80; ++j) {
          mpfr_mul(product.at(0, 0), a.at(i, k), b.at(k, j), rounding);
          mpfr_add(c.at(i, j), c.at(i, j), product.at(0, 0), rounding);
        }
      }
    }
    EXPECT_TRUE(triple_loop(a, b, 128, rounding) == c);
  }
  EXPECT_FALSE(triple_loop(a, b, 128) == multiply(a, b, 128));  // which rounds once
}

}  // namespace
}  // namespace tabane::matmul
