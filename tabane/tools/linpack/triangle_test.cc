#include "tabane/tools/linpack/triangle.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tabane/simd/target.h"

namespace tabane::linpack {
namespace {

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
