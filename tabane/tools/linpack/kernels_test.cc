#include "tabane/tools/linpack/kernels.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tabane/simd/target.h"
#include "tabane/tools/linpack/system.h"

namespace tabane::linpack {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The tests run on every target that this CPU has.
class Leaf : public testing::TestWithParam<std::string> {
 private:
  simd::ScopedTarget target_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(, Leaf, testing::ValuesIn(simd::target_names()),
                         [](const auto& target) { return target.param; });

TEST_P(Leaf, FindPivotReturnsTheFirstOfTheLargest) {
  const std::vector<double> column{1, -7, kNan, 7, 2};
  EXPECT_EQ(find_pivot(column.data(), 5).row, 1);
  EXPECT_EQ(find_pivot(column.data(), 5).magnitude, 7);
  EXPECT_EQ(find_pivot(column.data(), 1).row, 0);
  EXPECT_EQ(find_pivot(column.data() + 2, 1).magnitude, -1);
  EXPECT_EQ(find_pivot(column.data(), 0).magnitude, -1);
}

TEST_P(Leaf, FindPivotFindsItInEveryLaneAndRest) {
  for (int rows = 1; rows <= 67; ++rows) {
    for (int place = 0; place < rows; ++place) {
      std::vector<double> column(rows, 0.5);
      column[place] = -3;
      for (int i = place + 1; i < rows; i += 5) column[i] = 3;
      ASSERT_EQ(find_pivot(column.data(), rows).row, place) << rows;
    }
  }
}

TEST_P(Leaf, EliminateTakesOneStepByHand) {  // rows (2 5), (-6 1) below the pivot row (4 8)
  std::vector<double> a{2, -6, 5, 1};
  const double u = 8;
  const Pivot next = eliminate(a.data(), 2, 2, 2, 4, &u);
  EXPECT_EQ(a, (std::vector<double>{0.5, -1.5, 1, 13}));
  EXPECT_EQ(next.row, 1);
  EXPECT_EQ(next.magnitude, 13);
}

TEST_P(Leaf, EliminateDoesWhatThePlainOneDoes) {
  const RandomSystem numbers(1000, 3);
  for (int columns = 1; columns <= kLeafColumns; ++columns) {
    for (int rows = 0; rows <= 70; ++rows) {
      constexpr std::ptrdiff_t kLd = 72;
      std::vector<double> a(kLd * kLeafColumns), u(kLeafColumns);
      numbers.read(columns, 0, a);
      numbers.read(rows, 100, u);
      std::vector<double> plain = a;
      const Pivot found = eliminate(a.data(), kLd, rows, columns, 0.7, u.data());
      const Pivot expected = eliminate_ref(plain.data(), kLd, rows, columns, 0.7, u.data());
      ASSERT_EQ(found.row, expected.row);
      ASSERT_NEAR(found.magnitude, expected.magnitude, 1e-15);
      for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], plain[i], 1e-15);
    }
  }
}

TEST_P(Leaf, EliminateDividesByThePivotWhoseInverseIsInfinite) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  std::vector<double> a{-tiny, 0};
  eliminate(a.data(), 2, 2, 1, tiny, nullptr);
  EXPECT_EQ(a, (std::vector<double>{-1, 0}));
}

// The tests run on every target that this CPU has.
class SolveUnitLower : public testing::TestWithParam<std::string> {
 private:
  simd::ScopedTarget target_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(, SolveUnitLower, testing::ValuesIn(simd::target_names()),
                         [](const auto& target) { return target.param; });

TEST_P(SolveUnitLower, SolvesByHand) {  // 1 0; 3 1, where what stands for 1 and 0 is not read
  const std::vector<double> l{7, 3, 9, 8};
  std::vector<double> b{2, 10, -1, 0};
  solve_unit_lower(2, 2, l.data(), 2, b.data(), 2);
  EXPECT_EQ(b, (std::vector<double>{2, 4, -1, 3}));
}

// L x = b with a known x of small integers and an L of halves is exact.
TEST_P(SolveUnitLower, SolvesAllShapesExactlyAndLeavesTheRest) {
  for (int m = 0; m <= 40; ++m) {
    for (const int n : {0, 1, 2, 7, 8, 9, 31, 33, 40}) {
      const std::ptrdiff_t ld = m + 3;
      const auto size = static_cast<std::size_t>(ld);
      std::vector<double> l(size * size, 99), x(size * 41, 77), b = x;
      for (int j = 0; j < m; ++j) {
        for (int i = j + 1; i < m; ++i)
          l[static_cast<std::size_t>(i + j * ld)] = (i * j % 3 - 1) / 2.;
      }
      for (int c = 0; c < n; ++c) {
        for (int i = 0; i < m; ++i) {
          x[static_cast<std::size_t>(i + c * ld)] = (i * 5 + c * 3) % 7 - 3;
          double sum = x[static_cast<std::size_t>(i + c * ld)];
          for (int k = 0; k < i; ++k) {
            sum +=
                l[static_cast<std::size_t>(i + k * ld)] * x[static_cast<std::size_t>(k + c * ld)];
          }
          b[static_cast<std::size_t>(i + c * ld)] = sum;
        }
      }
      solve_unit_lower(m, n, l.data(), ld, b.data(), ld);
      ASSERT_EQ(b, x) << m << " x " << n;
    }
  }
}

}  // namespace
}  // namespace tabane::linpack
