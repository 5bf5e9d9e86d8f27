#include "tabane/tools/scg/solve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tabane/comm/launch.h"
#include "tabane/simd/targets_test.h"
#include "tabane/tools/scg/mesh_test.h"

namespace tabane::scg {
namespace {

using Solved = std::pair<SolvedMesh, std::vector<double>>;

Solved solved(const Problem& problem, int ranks = 1, const SolveOptions& options = {}) {
  check(problem);
  const auto result = comm::launch_result<Solved>(
      {.ranks = ranks, .transport = comm::TransportKind::shm}, [&](comm::Comm& comm) {
        std::vector<double> values;
        SolvedMesh answer = solve(comm, problem, options, &values);
        return Solved{std::move(answer), std::move(values)};
      });
  return result.value();
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::fabs(a[i] - b[i]));
  return most;
}

TEST(SolveMesh, TakesTheIterationsOfTheReport) {
  for (const auto& [n, iterations] : {std::pair{100U, 222.0}, {200U, 446.0}, {400U, 894.0}}) {
    for (const int ranks : {1, 2}) {
      const SolvedMesh answer = solved({.rows = n, .columns = n}, ranks).first;
      EXPECT_NEAR(static_cast<double>(answer.iterations), iterations, 1) << n << ", " << ranks;
      EXPECT_TRUE(answer.converged);
      EXPECT_TRUE(answer.solution.check.passed());
      EXPECT_EQ(answer.solution.operations, 24.0 * n * n * static_cast<double>(answer.iterations));
    }
  }
}

TEST(SolveMesh, ReducesTwiceAnIterationAndOnceBefore) {
  const SolvedMesh answer = solved({.rows = 30, .columns = 30}, 2).first;
  const auto& names = answer.solution.steps.names;
  const auto step = std::ranges::find(names, "reductions") - names.begin();
  for (const auto& rank : answer.solution.steps.ranks) {
    EXPECT_EQ(rank[step].times, 2 * answer.iterations + 1);
  }
}

// u = cos(2 x) exp(y) with k = 1 + x + y^2 or 1; on sides with Neumann, what flows in.
struct Manufactured {
  bool variable = false, flows = false;

  double u(double x, double y) const { return std::cos(2 * x) * std::exp(y); }
  double u_x(double x, double y) const { return -2 * std::sin(2 * x) * std::exp(y); }
  double k(double x, double y) const { return variable ? 1 + x + y * y : 1; }
  double f(double x, double y) const {
    const double along = variable ? u_x(x, y) + 2 * y * u(x, y) : 0;
    return -(along - 3 * k(x, y) * u(x, y));  // the Laplacian of u is -3 u
  }

  Problem problem(std::size_t rows, std::size_t columns) const {
    Problem p{.rows = rows, .columns = columns};
    if (flows) p.sides[kWest].condition = p.sides[kSouth].condition = Condition::neumann;
    const double height = y_of(p, rows - 1) + mesh_width(p) * (flows ? 0.5 : 1);
    p.f.array = p.k.array = {rows, columns, std::vector<double>(rows * columns)};
    for (const int side : {kNorth, kSouth}) p.sides[side].values.array = {1, columns, {}};
    for (const int side : {kWest, kEast}) p.sides[side].values.array = {1, rows, {}};
    for (std::size_t i = 0; i < rows; ++i) {
      const double y = y_of(p, i);
      for (std::size_t j = 0; j < columns; ++j) {
        p.f.array.values[i * columns + j] = f(x_of(p, j), y);
        p.k.array.values[i * columns + j] = k(x_of(p, j), y);
      }
      p.sides[kWest].values.array.values.push_back(flows ? -k(0, y) * u_x(0, y) : u(0, y));
      p.sides[kEast].values.array.values.push_back(u(1, y));
    }
    for (std::size_t j = 0; j < columns; ++j) {
      const double x = x_of(p, j);
      p.sides[kNorth].values.array.values.push_back(u(x, 0));
      p.sides[kSouth].values.array.values.push_back(flows ? k(x, height) * u(x, height)
                                                          : u(x, height));
    }
    if (!variable) p.k = {1};
    return p;
  }

  double error(std::size_t rows, std::size_t columns, int ranks, FaceMean mean) const {
    Problem p = problem(rows, columns);
    p.mean = mean;
    const auto [answer, values] = solved(p, ranks);
    EXPECT_TRUE(answer.solution.check.passed());
    double most = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        most = std::max(most, std::fabs(values[i * columns + j] - u(x_of(p, j), y_of(p, i))));
      }
    }
    return most;
  }
};

TEST(SolveMesh, ErrsAsTheSquareOfTheMeshWidth) {
  for (const bool variable : {false, true}) {
    for (const bool flows : {false, true}) {
      for (const FaceMean mean : {FaceMean::harmonic, FaceMean::arithmetic}) {
        const Manufactured made{variable, flows};
        const double coarse = made.error(24, 19, 1, mean), fine = made.error(96, 79, 2, mean);
        EXPECT_GT(coarse / fine, 12) << variable << flows << coarse;  // a quarter of the width: 16
        EXPECT_LT(coarse / fine, 20) << variable << flows;
      }
    }
  }
}

// Two layers, one behind the other: u is linear in each, and as much flows through both.
TEST(SolveMesh, IsExactWhereKJumpsBetweenSquares) {
  constexpr std::size_t kColumns = 20;
  Problem problem{.rows = 3, .columns = kColumns, .f = {0}};
  problem.k.array = {3, kColumns, {}};
  for (std::size_t i = 0; i < 3 * kColumns; ++i) {
    problem.k.array.values.push_back(i % kColumns < 8 ? 1 : 1000);
  }
  problem.sides[kNorth].condition = problem.sides[kSouth].condition = Condition::neumann;
  problem.sides[kWest].values = {1};
  const auto [answer, u] = solved(problem, 2);
  EXPECT_TRUE(answer.solution.check.passed());
  const double h = mesh_width(problem), jump = x_of(problem, 7) + h / 2;
  const double flow = 1 / (jump + (1 - jump) / 1000);
  for (std::size_t j = 0; j < kColumns; ++j) {
    const double x = x_of(problem, j);
    const double expected = x < jump ? 1 - flow * x : flow * (1 - x) / 1000;
    EXPECT_NEAR(u[kColumns + j], expected, 1e-10) << j;
  }
}

TEST(SolveMesh, GivesTheSameOnEveryGrid) {
  for (const bool variable : {false, true}) {
    const Problem problem = Manufactured{variable, variable}.problem(37, 29);
    const auto [first, expected] = solved(problem);
    for (const auto& [ranks, grid] : {std::pair{2, comm::GridShape{2, 1}},
                                      {2, {1, 2}},
                                      {4, {2, 2}},
                                      {4, {1, 4}},
                                      {9, {3, 3}},
                                      {9, {9, 1}}}) {
      const auto [answer, values] = solved(problem, ranks, {.grid = grid});
      SCOPED_TRACE(testing::Message() << grid.rows << " x " << grid.columns);
      EXPECT_NEAR(static_cast<double>(answer.iterations), static_cast<double>(first.iterations), 1);
      EXPECT_TRUE(answer.solution.check.passed());
      EXPECT_EQ(answer.solution.rows, grid.rows);
      EXPECT_LT(largest_difference(values, expected), 1e-9);
    }
  }
}

TEST(SolveMesh, RepeatsToTheLastBit) {
  const Problem problem = Manufactured{true, true}.problem(40, 33);
  EXPECT_EQ(solved(problem, 4).second, solved(problem, 4).second);
}

TEST(SolveMesh, OfOneUnknownAndOfTwo) {
  const auto [one, u] = solved({.rows = 1, .columns = 1, .k = {2}, .f = {8}});
  EXPECT_EQ(one.iterations, 1U);
  EXPECT_DOUBLE_EQ(u[0], 0.25);  // h^2 f / 4 k
  for (const int ranks : {1, 2}) {
    const auto [two, v] = solved({.rows = 2, .columns = 1}, ranks);
    EXPECT_NEAR(v[0], 0.25 / 3, 1e-15);  // 4 v - v = h^2, h = 1 / 2
    EXPECT_NEAR(v[1], 0.25 / 3, 1e-15);
    EXPECT_TRUE(two.solution.check.passed());
  }
}

// No square of them is a number.
TEST(SolveMesh, IsProportionalToFAndKHoweverLargeOrSmall) {
  const auto [usual, u] = solved({.rows = 20, .columns = 20});
  for (const auto& [k, f] : {std::pair{1.0, 1e-300}, {1.0, 1e300}, {1e-250, 1.0}, {1e290, 1.0}}) {
    const auto [answer, v] = solved({.rows = 20, .columns = 20, .k = {k}, .f = {f}}, 2);
    EXPECT_TRUE(answer.converged && answer.solution.check.passed()) << k << ", " << f;
    EXPECT_GT(answer.solution.check.residual, 0);
    EXPECT_NEAR(v[210] / f * k / u[210], 1, 1e-10) << k << ", " << f;
  }
}

TEST(SolveMesh, OfNothingIsNothing) {
  const auto [answer, u] = solved({.rows = 5, .columns = 5, .f = {0}}, 2);
  EXPECT_EQ(answer.iterations, 0U);
  EXPECT_TRUE(answer.converged && answer.solution.check.passed());
  EXPECT_EQ(u, std::vector<double>(25, 0));
}

// x is behind by one step after every other iteration; the residual must be that of r anyhow.
TEST(SolveMesh, HasAllStepsInXWhereverItStops) {
  const Problem problem = Manufactured{true, true}.problem(30, 30);
  for (std::size_t most = 1; most <= 12; ++most) {
    comm::launch({.ranks = 2, .transport = comm::TransportKind::shm}, [&](comm::Comm& comm) {
      const Block block = block_of(problem, choose_grid(2, problem), comm.rank());
      System system(problem, block);
      Halo halo(comm, block);
      comm::Steps steps = make_steps(comm);
      const Progress progress = iterate(comm, system, halo, steps, 1e-12, most);
      system.unscale();
      EXPECT_EQ(progress.iterations, most);
      const double residual = verify(comm, problem, system, halo, 1e-12, most).residual;
      EXPECT_NEAR(residual / progress.residual, 1, 1e-3);
    });
  }
}

TEST(SolveMesh, FailsWhereItHasNotConverged) {
  for (const Problem& problem :
       {Problem{.rows = 30, .columns = 30}, Manufactured{true, true}.problem(30, 30)}) {
    for (const bool prove : {false, true}) {
      const SolvedMesh answer = solved(problem, 2, {.most_iterations = 5, .prove = prove}).first;
      EXPECT_EQ(answer.iterations, 5U);
      EXPECT_FALSE(answer.converged || answer.solution.check.passed()) << prove;
    }
  }
}

TEST(SolveMesh, BoundsTheErrorWhereItIsAskedToOrKVariesMuch) {
  const auto [plain, u] = solved({.rows = 50, .columns = 40});
  EXPECT_FALSE(plain.proof.asked);
  const auto [asked, v] = solved({.rows = 50, .columns = 40}, 2, {.prove = true});
  EXPECT_LE(asked.proof.bound, 2e-12);
  EXPECT_TRUE(asked.solution.check.passed() && asked.converged);
  EXPECT_LT(largest_difference(u, v), 1e-11);
  Problem jump{.rows = 12, .columns = 12};
  jump.k.array = {12, 12, std::vector<double>(144, 1)};
  for (const auto& [least, asks] : {std::pair{1e-4, false}, {0.9e-4, true}}) {
    jump.k.array.values[77] = least;
    const SolvedMesh answer = solved(jump).first;
    EXPECT_EQ(answer.proof.asked, asks);
    EXPECT_TRUE(answer.solution.check.passed());
  }
}

// As much as nothing leads from the islands to the sides: u is 1e15 times larger than without.
TEST(SolveMesh, IsRightOnIslandsOfLargeK) {
  Problem problem{.rows = 24, .columns = 24};
  problem.k.array = {24, 24, {}};
  for (std::size_t i = 0; i < 576; ++i) {
    problem.k.array.values.push_back(i / 24 % 8 > 1 && i % 8 > 1 ? 1 : 1e-15);
  }
  const auto [answer, u] = solved(problem, 2);
  EXPECT_TRUE(answer.solution.check.passed()) << answer.proof.bound;
  const auto [finer, v] = solved(problem, 1, {.tolerance = 5e-14});
  EXPECT_TRUE(finer.solution.check.passed()) << finer.proof.bound;
  EXPECT_LT(largest_difference(u, v), 3e-12 * std::ranges::max(v));
}

// Where k differs by orders of magnitude, beta is at times far below 1.
TEST(SolveMesh, StandsLargeJumpsOfK) {
  Problem problem{.rows = 40, .columns = 40};
  problem.k.array = {40, 40, simd::some_values<double>(1600, 7)};
  for (double& k : problem.k.array.values) k = std::pow(10.0, 4 * k);
  const auto [answer, u] = solved(problem, 2);
  EXPECT_TRUE(answer.converged);
  EXPECT_TRUE(answer.solution.check.passed()) << answer.solution.check.residual;
}

solver::Check check_of(const Problem& problem, const std::vector<double>& u,
                       std::size_t iterations = 10) {
  return comm::launch_result<solver::Check>(
             {.ranks = 1, .transport = comm::TransportKind::shm},
             [&](comm::Comm& comm) {
               const Block block = block_of(problem, {1, 1}, 0);
               System system(problem, block);
               Halo halo(comm, block);
               for (std::size_t i = 0; i < u.size(); ++i) {
                 system.x.row(
                     static_cast<std::ptrdiff_t>(i / problem.columns))[i % problem.columns] = u[i];
               }
               return verify(comm, problem, system, halo, 1e-12, iterations);
             })
      .value();
}

// 4 u - u = h^2 with h = 1 / 3 in one row: u = 1 / 27.
TEST(Verify, PassesTheSolution) {
  const solver::Check check = check_of({.rows = 1, .columns = 2}, {1.0 / 27, 1.0 / 27});
  EXPECT_LT(check.residual, 1e-15);
  EXPECT_TRUE(check.passed());
}

TEST(Verify, FailsAnythingElse) {
  const Problem problem{.rows = 1, .columns = 2};
  const solver::Check close = check_of(problem, {1.0 / 27, (1 + 1e-9) / 27});
  EXPECT_FALSE(close.passed());
  EXPECT_GT(close.residual, 1e-10);
  EXPECT_EQ(check_of(problem, {0, 0}).residual, 1);
  EXPECT_FALSE(check_of(problem, {0, 0}).passed());
  EXPECT_FALSE(check_of(problem, {std::nan(""), 1.0 / 27}).passed());
}

TEST(Verify, AllowsForRoundingNoMoreThanThereIs) {
  const Problem problem{.rows = 100, .columns = 100};
  const double tolerance = check_of(problem, std::vector<double>(10000, 0.07), 900).tolerance;
  EXPECT_GT(tolerance, 2e-12);
  EXPECT_LT(tolerance, 3e-11);
}

TEST(Verify, LeavesRoomForRoundingButNeverForASolutionThatIsNone) {
  Problem problem{.rows = 1, .columns = 2};
  problem.f = {1e-30};
  const solver::Check check = check_of(problem, {1, 1});  // nothing like it
  EXPECT_FALSE(check.passed());
  EXPECT_LE(check.tolerance, 2 * kMostRounding);
}

}  // namespace
}  // namespace tabane::scg
