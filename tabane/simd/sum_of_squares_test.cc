#include "tabane/simd/sum_of_squares.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tabane/simd/reduction_test.h"

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

}  // namespace
}  // namespace tabane::simd
