#include "tabane/simd/sum.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tabane/simd/reduction_test.h"

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

template <class T>
struct TypedSum {
  using Element = T;
  static T run(In<T> x, In<T>) { return sum(x); }
  static T reference(In<T> x, In<T>) { return sum_reference(x); }
  static long double term(long double x, long double) { return x; }
  static constexpr int kSteps = 7;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Sum, Reduction, InBothTypes<TypedSum>, ElementName);

}  // namespace
}  // namespace tabane::simd
