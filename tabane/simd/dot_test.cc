#include "tabane/simd/dot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tabane/simd/targets_test.h"

namespace tabane::simd {
namespace {

TEST(Dot, MultipliesHandWorkedNumbers) {
  on_every_target([] {
    const std::vector<double> none, x{1, 2, 3, 4, 5}, y{2, 0, -1, 0.5, 10};
    EXPECT_EQ(dot(none, none), 0.0);
    EXPECT_EQ(dot(x, y), 51.0);
    EXPECT_EQ(dot_reference(x, y), 51.0);
    EXPECT_EQ(dot(std::vector<float>{3.0f}, std::vector<float>{-2.0f}), -6.0f);
  });
}

TEST(Dot, WithAUnitVectorPicksItsElement) {
  on_every_target([] {
    for (const std::size_t n : awkward_sizes()) {
      const auto x = some_values<double>(n, 3);
      std::vector<double> unit(n, 0.0);
      for (const std::size_t i : {n / 3, n - 1}) {
        if (n == 0) continue;
        unit[i] = 1.0;
        EXPECT_EQ(dot(x, unit), x[i]) << n << ", " << i;
        unit[i] = 0.0;
      }
    }
  });
}

TEST(Dot, DoesNotMultiplyAnInfinityByWhatItLeftOut) {
  on_every_target([] {
    for (const std::size_t n : awkward_sizes()) {
      if (n == 0) continue;
      std::vector<double> x(n, 1.0), y(n, 2.0);
      y[n / 2] = std::numeric_limits<double>::infinity();
      EXPECT_EQ(dot(x, y), std::numeric_limits<double>::infinity()) << n;
    }
  });
}

// The bound of dot.h against a reference in long double, whose own error is far smaller.
template <class T>
void expect_within_bound(std::size_t n) {
  const auto x = some_values<T>(n, 1), y = some_values<T>(n, 2);
  long double exact = 0, size = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const long double term = static_cast<long double>(x[i]) * y[i];
    exact += term;
    size += std::fabs(term);
  }
  const double k = std::ceil(static_cast<double>(n) / static_cast<double>(8 * lanes<T>())) + 8 +
                   std::log2(static_cast<double>(lanes<T>()));
  const auto error = static_cast<double>(std::fabs(static_cast<long double>(dot(x, y)) - exact));
  EXPECT_LE(error, 1.01 * k * unit_roundoff<T>() * static_cast<double>(size)) << n;
}

TEST(Dot, StaysWithinItsErrorBoundOnEveryTarget) {
  on_every_target([] {
    for (const std::size_t n : awkward_sizes()) {
      expect_within_bound<double>(n);
      expect_within_bound<float>(n);
    }
  });
}

template <class T>
void expect_reference(std::size_t n) {
  const auto x = some_values<T>(n, 1), y = some_values<T>(n, 2);
  const double tolerance =
      2 * static_cast<double>(n + 1) * static_cast<double>(n + 1) * unit_roundoff<T>();
  EXPECT_NEAR(dot(x, y), dot_reference(x, y), tolerance) << n;
}

TEST(Dot, AgreesWithThePlainLoopOnEveryTarget) {
  on_every_target([] {
    for (const std::size_t n : awkward_sizes()) {
      expect_reference<double>(n);
      expect_reference<float>(n);
    }
  });
}

TEST(Dot, RepeatsToTheLastBitAtEveryAlignment) {
  on_every_target([] {
    for (const std::size_t n : awkward_sizes()) {
      const auto values = some_values<double>(n, 1);
      const double first = dot(values, values);
      for (std::size_t offset = 0; offset < 8; ++offset) {
        Placed<double> x(values, offset), y(values, 7 - offset);
        EXPECT_EQ(dot(x.span(), y.span()), first) << n << ", " << offset;
      }
    }
  });
}

}  // namespace
}  // namespace tabane::simd
