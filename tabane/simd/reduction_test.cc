#include "tabane/simd/reduction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "tabane/simd/targets_test.h"

namespace tabane::simd {
namespace {

// Kernel: type Element; run(x, y) and reference(x, y), each of which leaves out what the kernel
// does not take; term(x, y) in long double; kSteps, in the bound of its header (ceil(n / 8 L) +
// kSteps + log2 L) u S.
template <class Kernel>
class Reduction : public testing::Test {};
TYPED_TEST_SUITE_P(Reduction);

TYPED_TEST_P(Reduction, StaysWithinItsErrorBoundOnEveryTarget) {
  using T = typename TypeParam::Element;
  on_every_target_and_habit([] {
    for (const std::size_t n : sizes_of_every_loop()) {
      const auto x = some_values<T>(n, 1), y = some_values<T>(n, 2);
      long double exact = 0, size = 0;  // whose own error is far smaller
      for (std::size_t i = 0; i < n; ++i) {
        const long double term = TypeParam::term(x[i], y[i]);
        exact += term;
        size += std::fabs(term);
      }
      const auto lanes_d = static_cast<double>(lanes<T>());
      const double k = std::ceil(static_cast<double>(n) / (8 * lanes_d)) + TypeParam::kSteps +
                       std::log2(lanes_d);
      const auto error = static_cast<double>(std::fabs(TypeParam::run(x, y) - exact));
      EXPECT_LE(error, 1.01 * k * unit_roundoff<T>() * static_cast<double>(size)) << n;
    }
  });
}

TYPED_TEST_P(Reduction, AgreesWithThePlainLoopOnEveryTarget) {
  using T = typename TypeParam::Element;
  on_every_target_and_habit([] {
    for (const std::size_t n : sizes_of_every_loop()) {
      const auto x = some_values<T>(n, 1), y = some_values<T>(n, 2);
      const auto terms = static_cast<double>(n + 1);
      EXPECT_NEAR(TypeParam::run(x, y), TypeParam::reference(x, y),
                  2 * terms * terms * unit_roundoff<T>())
          << n;
    }
  });
}

TYPED_TEST_P(Reduction, RepeatsToTheLastBitAtEveryAlignment) {
  using T = typename TypeParam::Element;
  on_every_target_and_habit([] {
    for (const std::size_t n : sizes_of_every_loop()) {
      const auto values = some_values<T>(n, 1);
      const T first = TypeParam::run(values, values);
      for (std::size_t offset = 0; offset < 8; ++offset) {
        Placed<T> x(values, offset), y(values, 7 - offset);
        EXPECT_EQ(TypeParam::run(x.span(), y.span()), first) << n << ", " << offset;
      }
    }
  });
}

REGISTER_TYPED_TEST_SUITE_P(Reduction, StaysWithinItsErrorBoundOnEveryTarget,
                            AgreesWithThePlainLoopOnEveryTarget,
                            RepeatsToTheLastBitAtEveryAlignment);

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

template <class T>
struct TypedSum {
  using Element = T;
  static T run(In<T> x, In<T>) { return sum(x); }
  static T reference(In<T> x, In<T>) { return sum_reference(x); }
  static long double term(long double x, long double) { return x; }
  static constexpr int kSteps = 7;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Sum, Reduction, InBothTypes<TypedSum>, ElementName);

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

template <class T>
struct TypedSumOfSquares {
  using Element = T;
  static T run(In<T> x, In<T>) { return sum_of_squares(x); }
  static T reference(In<T> x, In<T>) { return sum_of_squares_reference(x); }
  static long double term(long double x, long double) { return x * x; }
  static constexpr int kSteps = 8;
};

INSTANTIATE_TYPED_TEST_SUITE_P(SumOfSquares, Reduction, InBothTypes<TypedSumOfSquares>,
                               ElementName);

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

template <class T>
struct TypedDot {
  using Element = T;
  static T run(In<T> x, In<T> y) { return dot(x, y); }
  static T reference(In<T> x, In<T> y) { return dot_reference(x, y); }
  static long double term(long double x, long double y) { return x * y; }
  static constexpr int kSteps = 8;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Dot, Reduction, InBothTypes<TypedDot>, ElementName);

}  // namespace

}  // namespace tabane::simd
