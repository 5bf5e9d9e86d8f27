#include "tabane/simd/sum_of_squares.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "tabane/simd/targets_test.h"

namespace tabane::simd {
namespace {

TEST(SumOfSquares, AddsHandWorkedNumbers) {
  on_every_target([] {
    EXPECT_EQ(sum_of_squares(std::vector<double>{}), 0.0);
    EXPECT_EQ(sum_of_squares(std::vector<double>{-3.0}), 9.0);
    EXPECT_EQ(sum_of_squares(std::vector<double>{1, 2, 3, 4, 5}), 55.0);
    EXPECT_EQ(sum_of_squares(std::vector<float>{0.5f, -2.0f}), 4.25f);
  });
}

TEST(SumOfSquares, OfTheFirstNumbersIsPyramidal) {
  on_every_target([] {
    for (const std::size_t n : awkward_sizes()) {
      std::vector<double> x(n);
      std::iota(x.begin(), x.end(), 1.0);
      const auto pyramid = static_cast<double>(n * (n + 1) * (2 * n + 1) / 6);
      EXPECT_EQ(sum_of_squares(x), pyramid) << n;
      EXPECT_EQ(sum_of_squares_reference(x), pyramid) << n;
    }
  });
}

// The bound of sum_of_squares.h against a reference in long double, whose own error is far smaller.
template <class T>
void expect_within_bound(std::size_t n) {
  const auto x = some_values<T>(n, 1);
  long double exact = 0, size = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const long double term = static_cast<long double>(x[i]) * x[i];
    exact += term;
    size += std::fabs(term);
  }
  const double k = std::ceil(static_cast<double>(n) / static_cast<double>(8 * lanes<T>())) + 8 +
                   std::log2(static_cast<double>(lanes<T>()));
  const auto error =
      static_cast<double>(std::fabs(static_cast<long double>(sum_of_squares(x)) - exact));
  EXPECT_LE(error, 1.01 * k * unit_roundoff<T>() * static_cast<double>(size)) << n;
}

TEST(SumOfSquares, StaysWithinItsErrorBoundOnEveryTarget) {
  on_every_target([] {
    for (const std::size_t n : awkward_sizes()) {
      expect_within_bound<double>(n);
      expect_within_bound<float>(n);
    }
  });
}

template <class T>
void expect_reference(std::size_t n) {
  const auto x = some_values<T>(n, 1);
  const double tolerance =
      2 * static_cast<double>(n + 1) * static_cast<double>(n + 1) * unit_roundoff<T>();
  EXPECT_NEAR(sum_of_squares(x), sum_of_squares_reference(x), tolerance) << n;
}

TEST(SumOfSquares, AgreesWithThePlainLoopOnEveryTarget) {
  on_every_target([] {
    for (const std::size_t n : awkward_sizes()) {
      expect_reference<double>(n);
      expect_reference<float>(n);
    }
  });
}

TEST(SumOfSquares, RepeatsToTheLastBitAtEveryAlignment) {
  on_every_target([] {
    for (const std::size_t n : awkward_sizes()) {
      const auto values = some_values<double>(n, 1);
      const double first = sum_of_squares(values);
      for (std::size_t offset = 0; offset < 8; ++offset) {
        Placed<double> x(values, offset);
        EXPECT_EQ(sum_of_squares(x.span()), first) << n << ", " << offset;
      }
    }
  });
}

}  // namespace
}  // namespace tabane::simd
