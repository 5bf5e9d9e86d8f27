#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tabane/comm/launch.h"
#include "tabane/simd/targets_test.h"
#include "tabane/tools/scg/solve.h"

namespace tabane::scg {
namespace {

using Proved = std::pair<Proof, std::vector<double>>;

// Begins with this u.
Proved proved(const Problem& problem, const std::vector<double>& u, int ranks = 1,
              std::size_t most = 100'000) {
  check(problem);
  const auto result = comm::launch_result<Proved>(
      {.ranks = ranks, .transport = comm::TransportKind::shm}, [&](comm::Comm& comm) {
        const comm::GridShape grid = choose_grid(comm.size(), problem);
        const Block block = block_of(problem, grid, comm.rank());
        System system(problem, block);
        Halo halo(comm, block);
        for (std::size_t i = 0; i < block.rows; ++i) {
          for (std::size_t j = 0; j < block.columns; ++j) {
            system.x.row(static_cast<std::ptrdiff_t>(i))[j] =
                u[(block.first_row + i) * problem.columns + block.first_column + j];
          }
        }
        Proof proof = prove(comm, problem, system, halo, 2e-12, most);
        return Proved{proof, gather_field(comm, problem, grid, system.x)};
      });
  return result.value();
}

double error_of(const std::vector<double>& u, const std::vector<double>& right) {
  double most = 0, largest = 0;
  for (std::size_t i = 0; i < u.size(); ++i) {
    most = std::max(most, std::fabs(u[i] - right[i]));
    largest = std::max(largest, std::fabs(right[i]));
  }
  return most / largest;
}

// Nothing but a thin layer of small k leads to the east: u is 1 everywhere, and its level in the
// east hardly shows in the residual.
Problem barrier(double k) {
  Problem problem{.rows = 20, .columns = 20, .f = {0}};
  problem.k.array = {20, 20, std::vector<double>(400, 1)};
  for (std::size_t i = 0; i < 20; ++i) problem.k.array.values[20 * i + 10] = k;
  for (const SideIndex side : {kNorth, kSouth, kEast}) {
    problem.sides[side].condition = Condition::neumann;
  }
  problem.sides[kWest].values = {1};
  return problem;
}

TEST(Prove, SeesALevelThatTheResidualDoesNotShowAndMakesItRight) {
  std::vector<double> wrong(400, 1);
  for (std::size_t i = 0; i < 400; ++i) wrong[i] = i % 20 > 10 ? 6e-12 : 1;
  for (const double k : {1e-9, 1e-10, 1e-12, 1e-15}) {
    EXPECT_FALSE(proved(barrier(k), wrong, 1, 1).first.bound <= 1) << k;
    for (const int ranks : {1, 2, 4}) {
      const auto [proof, u] = proved(barrier(k), wrong, ranks);
      EXPECT_LE(proof.bound, 2e-12) << k << ", " << ranks;
      EXPECT_LE(error_of(u, std::vector<double>(400, 1)), proof.bound) << k << ", " << ranks;
    }
  }
}

// For each set of Neumann sides, of another size along and down.
template <class F>
void for_sides(F f) {
  for (unsigned sides = 0; sides < 15; ++sides) {
    Problem problem{.rows = 9, .columns = 14, .k = {3e-5}};
    for (std::size_t side = 0; side < kSides; ++side) {
      if ((sides >> side & 1) != 0) problem.sides[side].condition = Condition::neumann;
      problem.sides[side].values = {0.5 + static_cast<double>(side)};
    }
    SCOPED_TRACE(sides);
    f(problem);
  }
}

TEST(Prove, BoundsTheErrorForConstantKWithoutAnIteration) {
  for_sides([](const Problem& problem) {
    const auto [proof, right] = proved(problem, std::vector<double>(9 * 14, 0.0), 2);
    EXPECT_LE(proof.bound, 2e-12);
    for (const double error : {1e-3, 1e-9, 1e-14}) {
      for (const std::size_t place : {std::size_t{0}, std::size_t{60}, std::size_t{125}}) {
        std::vector<double> wrong = right;
        wrong[place] += error * std::ranges::max(right);
        const Proof of_wrong = proved(problem, wrong, 1, 0).first;
        EXPECT_GE(of_wrong.bound, 0.9 * error);
        EXPECT_LE(of_wrong.bound, 1e4 * error);
        EXPECT_EQ(of_wrong.iterations, 0U);
      }
    }
  });
}

TEST(Prove, HoldsForRandomKOnAnyRanks) {
  Problem problem{.rows = 17, .columns = 23};
  problem.k.array = {17, 23, simd::some_values<double>(17 * 23, 3)};
  problem.f.array = {17, 23, simd::some_values<double>(17 * 23, 4)};
  problem.sides[kEast] = {Condition::neumann, {1e-3}};
  for (double& k : problem.k.array.values) k = std::pow(10.0, 7 * k);
  for (const FaceMean mean : {FaceMean::harmonic, FaceMean::arithmetic}) {
    problem.mean = mean;
    const auto [proof, u] = proved(problem, std::vector<double>(17 * 23, 0.0));
    EXPECT_LE(proof.bound, 2e-12);
    EXPECT_GT(proof.iterations, 0U);
    for (const int ranks : {2, 6}) {
      const auto [other, v] = proved(problem, std::vector<double>(17 * 23, 1.0), ranks);
      EXPECT_LE(other.bound, 2e-12);
      EXPECT_LE(error_of(v, u), proof.bound + other.bound) << ranks;
    }
  }
}

TEST(Prove, FindsNoBoundWithoutIterationsOrForNoNumbers) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  EXPECT_EQ(proved(barrier(1e-12), std::vector<double>(400, 1), 2, 0).first.bound, inf);
  EXPECT_EQ(proved(barrier(1e-200), std::vector<double>(400, 1)).first.bound, inf);
  for (const double bad : {inf, nan}) {
    std::vector<double> u(400, 1);
    u[77] = bad;
    EXPECT_EQ(proved({.rows = 20, .columns = 20}, u, 2).first.bound, inf) << bad;
  }
}

TEST(Prove, OfNothingIsNothing) {
  const Problem nothing{.rows = 4, .columns = 5, .f = {0}};
  EXPECT_EQ(proved(nothing, std::vector<double>(20, 0.0)).first.bound, 0);
  EXPECT_EQ(proved({.rows = 4, .columns = 5}, std::vector<double>(20, 0.0), 1, 0).first.bound,
            std::numeric_limits<double>::infinity());
}

TEST(Prove, IsProportionalToFAndKHoweverLargeOrSmall) {
  for (const auto& [k, f] : {std::pair{1.0, 1e-290}, {1.0, 1e290}, {1e-250, 1.0}, {1e290, 1.0}}) {
    Problem problem{.rows = 20, .columns = 20, .f = {f}};
    problem.k.array = {20, 20, std::vector<double>(400, k)};
    problem.k.array.values[50] = 1e-7 * k;
    EXPECT_LE(proved(problem, std::vector<double>(400, f / k), 2).first.bound, 2e-12)
        << k << ", " << f;
  }
}

}  // namespace
}  // namespace tabane::scg
