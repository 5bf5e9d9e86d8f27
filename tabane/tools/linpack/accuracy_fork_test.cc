#include "tabane/tools/linpack/accuracy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "tabane/comm/launch.h"
#include "tabane/core/error.h"
#include "tabane/tools/linpack/elimination.h"
#include "tabane/tools/linpack/solve.h"
#include "tabane/tools/linpack/solve_ref_test.h"

namespace tabane::linpack {
namespace {

// A x or A^T x.
std::vector<double> times(const System& a, const std::vector<double>& x, bool transposed) {
  std::vector<double> product(x.size()), column(x.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    a.read(static_cast<int>(j), 0, column);
    for (std::size_t i = 0; i < x.size(); ++i) {
      product[transposed ? j : i] += column[i] * x[transposed ? i : j];
    }
  }
  return product;
}

void expect_near(const std::vector<double>& a, const std::vector<double>& b,
                 const std::string& where) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= 1e-8)) throw core::Error(where);
  }
}

TEST(Factors, SolveWithAAndItsTransposeOnAllGrids) {
  for (const comm::GridShape grid : {comm::GridShape{1, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 3}}) {
    const comm::LaunchOptions ranks{.ranks = grid.rows * grid.columns,
                                    .transport = comm::TransportKind::shm};
    comm::launch(ranks, [&](comm::Comm& comm) {
      comm::Grid own(comm, grid);
      for (const int n : {1, 2, 5, 17, 65}) {
        for (const int block : {1, 3, 8, 40}) {
          if (block < 8 && n > 20) continue;
          for (const Messages messages : kAllMessages) {
            const RandomSystem system(n, static_cast<std::uint64_t>(n + block));
            const Layout layout(own, n, block);
            LocalMatrix matrix(layout, system);
            Panels panels{Panel(layout), Panel(layout)};
            comm::Steps steps = make_steps(comm);
            const Eliminated done = eliminate_all(own, layout, matrix, panels, steps, messages);
            LuFactors factors(own, layout, matrix, done.pivots);
            std::vector<double> due(n);
            RandomSystem(n, 7).read(0, 0, due);
            const std::string where = "n " + std::to_string(n) + ", " + std::to_string(block);
            std::vector<double> x = times(system, due, false);
            factors.solve(x);
            expect_near(x, due, where);
            x = times(system, due, true);
            factors.solve_transposed(x);
            expect_near(x, due, where + ", transposed");
          }
        }
      }
    });
  }
}

constexpr comm::GridShape kFewGrids[]{{1, 1}, {1, 2}, {2, 1}, {2, 2}};

SolvedSystem solve_in_blocks(comm::GridShape grid, const System& system) {
  return *comm::launch_result<SolvedSystem>(
      {.ranks = grid.rows * grid.columns, .transport = comm::TransportKind::shm},
      [&](comm::Comm& comm) { return solve(comm, system, {.block = 16, .grid = grid}); });
}

std::vector<double> random_numbers(int n, std::uint64_t seed) {
  std::vector<double> numbers(n);
  RandomSystem(n, seed).read(0, 0, numbers);
  return numbers;
}

// Over the largest |x[i]|, as estimate_error() has it.
double error_of(const std::vector<double>& x, const std::vector<double>& truth) {
  double error = 0, largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    error = std::max(error, std::abs(x[i] - truth[i]));
    largest = std::max(largest, std::abs(x[i]));
  }
  return error / largest;
}

__extension__ typedef __int128 Wide;

// Ones on the diagonal and -1 above it: all pivots are 1, and the condition is 2^n.
struct Triangle {
  static constexpr int kN = 60;
  std::vector<double> b, truth;

  explicit Triangle(std::uint64_t seed) : b(kN), truth(kN) {
    const std::vector<double> x = random_numbers(kN, seed);
    double sum = 0;
    for (std::size_t i = kN; i-- > 0;) {
      b[i] = x[i] - sum;
      sum += x[i];
    }
    // b holds multiples of 2^-53: in these x[i] = b[i] + the x behind it is exact.
    Wide later = 0;
    for (std::size_t i = kN; i-- > 0;) {
      const Wide value = std::llround(std::ldexp(b[i], 53)) + later;
      truth[i] = std::ldexp(static_cast<double>(value), -53);
      later += value;
    }
  }
  // Row i at rows[i], column j at columns[j].
  GivenSystem permuted(const std::vector<int>& rows, const std::vector<int>& columns) const {
    std::vector<double> a(kN * kN), right(kN);
    for (std::size_t i = 0; i < kN; ++i) {
      right[rows[i]] = b[i];
      for (std::size_t j = i; j < kN; ++j) {
        a[static_cast<std::size_t>(columns[j] * kN + rows[i])] = j == i ? 1 : -1;
      }
    }
    return {kN, a, right};
  }
  std::vector<double> truth_at(const std::vector<int>& columns) const {
    std::vector<double> moved(kN);
    for (std::size_t j = 0; j < kN; ++j) moved[columns[j]] = truth[j];
    return moved;
  }
};

TEST(Accuracy, OfATriangleWhosePivotsAllAreOneIsKnownToBeLost) {
  std::vector<int> as_is(Triangle::kN), shuffled(Triangle::kN);
  std::iota(as_is.begin(), as_is.end(), 0);
  for (int i = 0; i < Triangle::kN; ++i) shuffled[i] = i * 37 % 60;
  const std::vector<int> reversed(as_is.rbegin(), as_is.rend());
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const Triangle triangle(seed);
    for (const auto& rows : {as_is, reversed, shuffled}) {
      for (const auto& columns : {as_is, reversed, shuffled}) {
        for (const comm::GridShape grid : kFewGrids) {
          const SolvedSystem answer = solve_in_blocks(grid, triangle.permuted(rows, columns));
          const double error = error_of(answer.x, triangle.truth_at(columns));
          worst = std::max(worst, error);
          EXPECT_GE(answer.error, error);
          EXPECT_GE(answer.error, 0.1);
        }
      }
    }
  }
  EXPECT_GT(worst, 0.1);
}

// B x = c with B well-conditioned, and so the same with rows and columns times powers of 2. The
// scaling of the rows chooses the pivots, so a few more digits are lost than of B, and how many
// depends on the order in which the processor's BLAS kernel adds (3e-12 was seen).
TEST(Accuracy, IsNotDoubtedOfSystemsThatAreOnlyScaled) {
  constexpr int kN = 50;
  std::vector<double> b = random_numbers(kN * kN, 3);
  for (std::size_t i = 0; i < kN; ++i) b[i * kN + i] += kN;
  const std::vector<double> c = random_numbers(kN, 5);
  const auto power = [](std::size_t i, int range) {
    return std::ldexp(1.0, static_cast<int>(i * 29 % kN) * range / kN - range / 2);
  };
  for (const int row_range : {0, 60, 600}) {
    for (const int column_range : {0, 60, 600}) {
      std::vector<double> a = b, right = c;
      for (std::size_t i = 0; i < kN; ++i) {
        right[i] *= power(i, row_range);
        for (std::size_t j = 0; j < kN; ++j) {
          a[j * kN + i] *= power(i, row_range) * power(j + 7, column_range);
        }
      }
      for (const comm::GridShape grid : kFewGrids) {
        const SolvedSystem answer = solve_in_blocks(grid, GivenSystem(kN, a, right));
        EXPECT_LE(answer.error, 2e-11) << row_range << ", " << column_range;
        EXPECT_GT(answer.error, 0);
      }
    }
  }
}

// The first row is the pivot's though the second one says what x[0] is. A condition of the scaled
// matrix would not know that.
TEST(Accuracy, IsDoubtedWhereTheScaleOfARowSpoilsX) {
  const SolvedSystem answer = solve_in_blocks({1, 1}, GivenSystem(2, {10, 1, 1e20, 1}, {1e20, 2}));
  EXPECT_TRUE(answer.solution.check.passed());
  EXPECT_GE(error_of(answer.x, {1, 1}), 0.5);
  EXPECT_GE(answer.error, 0.5);
}

TEST(Accuracy, OfRandomSystemsIsKnownWithinSomeDigits) {
  for (const int n : {1, 2, 10, 100, 200}) {
    const RandomSystem system(n, 9);
    const SolvedSystem answer = solve_in_blocks({2, 2}, system);
    // x_ref is as far from the truth as x.
    EXPECT_GE(2 * answer.error, error_of(answer.x, solve_ref(system))) << n;
    EXPECT_LE(answer.error, 1e-9) << n;
    EXPECT_GT(answer.error, 0) << n;
  }
}

TEST(Accuracy, OfNothingAndOfZerosIsComplete) {
  EXPECT_EQ(solve_in_blocks({1, 2}, GivenSystem(0, {})).error, 0);
  EXPECT_EQ(solve_in_blocks({1, 2}, GivenSystem(2, {1, 0, 0, 2}, {0, 0})).error, 0);
}

}  // namespace
}  // namespace tabane::linpack
