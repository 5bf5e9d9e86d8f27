// What holds for every kernel that adds up one term for each element.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "tabane/simd/targets_test.h"

namespace tabane::simd {

// Kernel: type Element; run(x, y) and reference(x, y), each of which leaves out what the kernel
// does not take; term(x, y) in long double; kSteps, in the bound of its header (ceil(n / 8 L) +
// kSteps + log2 L) u S.
template <class Kernel>
class Reduction : public testing::Test {};
TYPED_TEST_SUITE_P(Reduction);

TYPED_TEST_P(Reduction, StaysWithinItsErrorBoundOnEveryTarget) {
  using T = typename TypeParam::Element;
  on_every_target([] {
    for (const std::size_t n : awkward_sizes()) {
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
  on_every_target([] {
    for (const std::size_t n : awkward_sizes()) {
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
  on_every_target([] {
    for (const std::size_t n : awkward_sizes()) {
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

}  // namespace tabane::simd
