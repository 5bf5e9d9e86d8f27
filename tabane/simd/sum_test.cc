#include "tabane/simd/sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "tabane/simd/targets_test.h"

namespace tabane::simd {
namespace {

TEST(Sum, AddsHandWorkedNumbers) {
  on_every_target([] {
    EXPECT_EQ(sum(std::vector<double>{}), 0.0);
    EXPECT_EQ(sum(std::vector<double>{42.0}), 42.0);
    EXPECT_EQ(sum(std::vector<double>{1, 2, 3, 4, 5}), 15.0);
    EXPECT_EQ(sum(std::vector<float>{0.5f, -2.0f, 8.0f}), 6.5f);
  });
}

TEST(Sum, OfTheFirstNumbersIsTriangular) {
  on_every_target([] {
    for (const std::size_t n : awkward_sizes()) {
      std::vector<double> x(n);
      std::iota(x.begin(), x.end(), 1.0);
      EXPECT_EQ(sum(x), static_cast<double>(n * (n + 1) / 2)) << n;
      EXPECT_EQ(sum_reference(x), static_cast<double>(n * (n + 1) / 2)) << n;
    }
  });
}

// The bound of sum.h against a reference in long double, whose own error is far smaller.
template <class T>
void expect_within_bound(std::size_t n) {
  const auto x = some_values<T>(n, 1);
  long double exact = 0, size = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const long double term = static_cast<long double>(x[i]);
    exact += term;
    size += std::fabs(term);
  }
  const double k = std::ceil(static_cast<double>(n) / static_cast<double>(8 * lanes<T>())) + 7 +
                   std::log2(static_cast<double>(lanes<T>()));
  const auto error = static_cast<double>(std::fabs(static_cast<long double>(sum(x)) - exact));
  EXPECT_LE(error, 1.01 * k * unit_roundoff<T>() * static_cast<double>(size)) << n;
}

TEST(Sum, StaysWithinItsErrorBoundOnEveryTarget) {
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
  EXPECT_NEAR(sum(x), sum_reference(x), tolerance) << n;
}

TEST(Sum, AgreesWithThePlainLoopOnEveryTarget) {
  on_every_target([] {
    for (const std::size_t n : awkward_sizes()) {
      expect_reference<double>(n);
      expect_reference<float>(n);
    }
  });
}

TEST(Sum, RepeatsToTheLastBitAtEveryAlignment) {
  on_every_target([] {
    for (const std::size_t n : awkward_sizes()) {
      const auto values = some_values<double>(n, 1);
      const double first = sum(values);
      for (std::size_t offset = 0; offset < 8; ++offset) {
        Placed<double> x(values, offset);
        EXPECT_EQ(sum(x.span()), first) << n << ", " << offset;
      }
    }
  });
}

}  // namespace
}  // namespace tabane::simd
