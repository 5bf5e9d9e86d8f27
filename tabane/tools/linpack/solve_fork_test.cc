#include "tabane/tools/linpack/solve.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "tabane/comm/collective/choice.h"
#include "tabane/comm/launch.h"
#include "tabane/core/error.h"
#include "tabane/tools/linpack/solve_ref_test.h"

namespace tabane::linpack {
namespace {

constexpr std::array<comm::GridShape, 7> kGrids{
    {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 3}, {3, 1}, {3, 3}}};

comm::LaunchOptions on(comm::GridShape grid, const std::string& rules = "") {
  return {.ranks = grid.rows * grid.columns,
          .grid = grid,
          .transport = comm::TransportKind::shm,
          .choice_rules = rules};
}

SolvedSystem solve_on(comm::GridShape grid, const System& system, SolveOptions options = {},
                      const std::string& rules = "") {
  options.grid = grid;
  return *comm::launch_result<SolvedSystem>(
      on(grid, rules), [&](comm::Comm& comm) { return solve(comm, system, options); });
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// 2 1 1   x   7      x = 1
// 4 3 3 * y = 19     y = 2   (8 7 9 is the first pivot row)
// 8 7 9   z   49     z = 3
TEST(SolveDense, SolvesThreeEquationsByHand) {
  const GivenSystem system(3, {2, 4, 8, 1, 3, 7, 1, 3, 9}, {7, 19, 49});
  EXPECT_LE(largest_difference(solve_ref(system), {1, 2, 3}), 1e-14);
  for (const comm::GridShape grid : kGrids) {
    for (const int block : {1, 2, 5}) {
      const SolvedSystem answer = solve_on(grid, system, {.block = block});
      EXPECT_LE(largest_difference(answer.x, {1, 2, 3}), 1e-14);
      EXPECT_TRUE(answer.solution.check.passed());
    }
  }
}

// Both residuals are within the bound, so A (x - x_ref) is within the sum of both; these matrices
// have condition numbers below 10^6.
TEST(SolveDense, IsRightOnAllGridsForAllSizes) {
  for (const comm::GridShape grid : kGrids) {
    comm::launch(on(grid), [&](comm::Comm& comm) {
      for (const int n : {0, 1, 2, 3, 5, 8, 9, 17, 33, 64}) {
        if (comm.size() > 4 && n != 3 && n != 17 && n != 64) continue;
        for (const int block : {1, 3, 8, 33}) {
          if (block < 8 && n > 20) continue;
          const RandomSystem system(n, static_cast<std::uint64_t>(n * 100 + block));
          for (const Messages messages : kAllMessages) {
            const SolvedSystem answer =
                solve(comm, system, {.block = block, .grid = grid, .messages = messages});
            const std::string where = "n " + std::to_string(n) + ", block " + std::to_string(block);
            if (answer.defect >= 0) throw core::Error(where + ": defect");
            if (!answer.solution.check.passed()) throw core::Error(where + ": not passed");
            if (comm.rank() != 0) continue;
            const std::vector<double> x = solve_ref(system);
            double size = 1;
            for (const double value : x) size = std::max(size, std::abs(value));
            if (!(largest_difference(answer.x, x) <= 1e-9 * size)) {
              throw core::Error(where + ": other x");
            }
          }
        }
      }
    });
  }
}

TEST(SolveDense, GivesTheSameBitsEachTimeOnOneGrid) {
  const RandomSystem system(150, 5);
  for (const comm::GridShape grid : {comm::GridShape{1, 2}, comm::GridShape{2, 2}}) {
    const std::vector<double> x = solve_on(grid, system, {.block = 16}).x;
    EXPECT_EQ(solve_on(grid, system, {.block = 16}).x, x);
  }
}

TEST(SolveDense, IsRightWithEveryMechanism) {
  const RandomSystem system(101, 5);
  const std::vector<double> expected = solve_ref(system);
  for (const auto name : comm::kMechanismNames) {
    const std::string rules = comm::rules_of(comm::mechanisms_named(name));
    for (const comm::GridShape grid : {comm::GridShape{1, 2}, comm::GridShape{2, 2}}) {
      const SolvedSystem answer = solve_on(grid, system, {.block = 16}, rules);
      EXPECT_TRUE(answer.solution.check.passed());
      EXPECT_LE(largest_difference(answer.x, expected), 1e-8);
    }
  }
}

TEST(SolveDense, CountsOperationsAndTimesSteps) {
  const solver::Solution solution = solve_on({1, 2}, RandomSystem(300, 1), {.block = 32}).solution;
  EXPECT_EQ(solution.operations, 2 * 300. * 300 * 300 / 3 + 3 * 300. * 300 / 2);
  EXPECT_EQ(solution.steps.ranks.size(), 2u);
  EXPECT_GT(solution.seconds, 0);
  EXPECT_EQ(solution.steps.ranks[0][kPanel].times + solution.steps.ranks[1][kPanel].times, 20u);
  EXPECT_EQ(solution.columns, 2);
}

TEST(SolveDense, TellsInWhichColumnASingularMatrixHasNoPivot) {
  constexpr int kN = 40;
  std::vector<double> a(kN * kN);
  RandomSystem(kN * kN, 1).read(0, 0, a);
  std::fill_n(a.begin() + 25 * kN, kN, 0.0);  // column 25
  std::fill_n(a.begin() + 30 * kN, kN, 0.0);
  for (const comm::GridShape grid : kGrids) {
    for (const int block : {8, 25, 26, 40}) {
      const SolvedSystem answer = solve_on(grid, GivenSystem(kN, a), {.block = block});
      EXPECT_EQ(answer.defect, 25);
      EXPECT_TRUE(answer.x.empty());
    }
  }
}

// Only its rows' scales differ, so x is exact. The ratio of the pivots would have warned of it.
TEST(SolveDense, DoesNotDoubtADiagonal) {
  const SolvedSystem answer = solve_on({1, 2}, GivenSystem(2, {1, 0, 0, 1e-17}), {.block = 1});
  EXPECT_LE(answer.error, 1e-15);
  EXPECT_EQ(answer.x, (std::vector<double>{1, 1}));
}

// Growth by 2 a row: the last column becomes 2^(n - 1), and the small numbers drown in it.
TEST(SolveDense, FailsTheCheckWhereTheEliminationLosesTheNumbers) {
  constexpr int kN = 70;
  std::vector<double> a(kN * kN);
  for (int i = 0; i < kN; ++i) {
    for (int j = 0; j < i; ++j) a[static_cast<std::size_t>(j * kN + i)] = -1;
    a[static_cast<std::size_t>(i * kN + i)] = a[static_cast<std::size_t>((kN - 1) * kN + i)] = 1;
  }
  std::vector<double> b(kN);
  RandomSystem(kN, 4).read(0, 0, b);
  const SolvedSystem answer = solve_on({1, 2}, GivenSystem(kN, a, b), {.block = 16});
  EXPECT_FALSE(answer.solution.check.passed());
}

TEST(SolveDense, FailsTheCheckWhereNumbersOverflow) {
  const double huge = std::numeric_limits<double>::max();
  for (const comm::GridShape grid : {comm::GridShape{1, 1}, comm::GridShape{2, 1}}) {
    const GivenSystem system(3, {huge, -huge, huge, huge, huge, -huge, -huge, huge, huge / 3},
                             {1, 2, 3});
    EXPECT_FALSE(solve_on(grid, system, {.block = 1}).solution.check.passed());
  }
}

TEST(SolveDense, SolvesWithVerySmallAndVeryLargeNumbers) {
  for (const double scale : {1e-300, 1e-200, 1e200}) {
    const GivenSystem system(2, {scale, 2 * scale, 3 * scale, scale});
    const SolvedSystem answer = solve_on({1, 2}, system, {.block = 1});
    EXPECT_TRUE(answer.solution.check.passed()) << scale;
    EXPECT_LE(largest_difference(answer.x, {1, 1}), 1e-12) << scale;
  }
}

// Dies when the right side is read again, for the check.
class Deadly : public System {
 public:
  explicit Deadly(int n) : System(n) {}
  void read(int j, int first, std::span<double> out) const override {
    RandomSystem(n(), 1).read(j, first, out);
    if (doomed && j == n() && first == 0 && ++reads_ == 2) raise(SIGKILL);
  }
  static inline bool doomed = false;

 private:
  mutable int reads_ = 0;
};

TEST(SolveDense, EndsIfARankIsKilled) {
  EXPECT_THROW(comm::launch(on({2, 2}),
                            [](comm::Comm& comm) {
                              Deadly::doomed = comm.rank() == 1;
                              solve(comm, Deadly(60), {.block = 60, .grid = {2, 2}});
                            }),
               core::LostError);
}

}  // namespace
}  // namespace tabane::linpack
