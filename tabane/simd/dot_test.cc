#include "tabane/simd/dot.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tabane/simd/reduction_test.h"

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
