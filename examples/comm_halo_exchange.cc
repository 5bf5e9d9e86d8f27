// Heat spreads on a torus that a grid of ranks shares: before each step every rank exchanges the
// rim of its block with four neighbours. Ranks are forked here, or MPI's if mpirun starts it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numbers>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tabane/comm/collectives.h"
#include "tabane/comm/grid.h"
#include "tabane/comm/launch.h"

namespace comm = tabane::comm;

constexpr int kRows = 48, kColumns = 64, kSteps = 200;  // of a rank's block

struct Block {
  std::vector<double> cells = std::vector<double>((kRows + 2) * (kColumns + 2));
  double& at(int row, int column) { return cells[row * (kColumns + 2) + column]; }
  std::span<double> row(int r) { return {&at(r, 1), kColumns}; }
  template <class F>  // f(cell, row, column), without the rim
  void for_each(F&& f) {
    for (int r = 1; r <= kRows; ++r)
      for (int c = 1; c <= kColumns; ++c) f(at(r, c), r, c);
  }
};

void exchange_rims(comm::Grid& grid, Block& block) {
  comm::Comm& all = grid.all();
  all.exchange(grid.north(), block.row(1), grid.south(), block.row(kRows + 1));
  all.exchange(grid.south(), block.row(kRows), grid.north(), block.row(0));
  std::array<double, kRows> west, east, out;
  for (int r = 0; r < kRows; ++r) out[r] = block.at(r + 1, 1);
  all.exchange(grid.west(), out, grid.east(), east);
  for (int r = 0; r < kRows; ++r) out[r] = block.at(r + 1, kColumns);
  all.exchange(grid.east(), out, grid.west(), west);
  for (int r = 0; r < kRows; ++r) {
    block.at(r + 1, 0) = west[r];
    block.at(r + 1, kColumns + 1) = east[r];
  }
}

void spread_heat(comm::Comm& world) {
  comm::Grid grid(world);
  const double x = 2 * std::numbers::pi / (kRows * grid.rows());
  const double y = 2 * std::numbers::pi / (kColumns * grid.columns());
  const int north = grid.my_row() * kRows, west = grid.my_column() * kColumns;
  const auto wave = [&](int r, int c) {
    return std::cos(x * (north + r)) * std::cos(y * (west + c));
  };
  Block now, next;
  now.for_each([&](double& cell, int r, int c) { cell = wave(r, c); });
  for (int step = 0; step < kSteps; ++step) {
    exchange_rims(grid, now);
    next.for_each([&](double& cell, int r, int c) {
      cell = (now.at(r - 1, c) + now.at(r + 1, c) + now.at(r, c - 1) + now.at(r, c + 1)) / 4;
    });
    std::swap(now, next);
  }
  // A wave keeps its shape: each step multiplies it by the same number.
  const double left = std::pow((std::cos(x) + std::cos(y)) / 2, kSteps);
  double error = 0;
  now.for_each([&](double& cell, int r, int c) {
    error = std::max(error, std::abs(cell - left * wave(r, c)));
  });
  error = comm::all_reduce(world, error, comm::Operation::max);
  if (world.rank() == 0)
    std::printf("%d x %d ranks, %d steps, error %.0e\n", grid.rows(), grid.columns(), kSteps,
                error);
  if (!(error < 1e-12)) throw std::runtime_error("heat was lost between the ranks");
}

int main(int argc, char** argv) try {
  comm::launch({.ranks = argc > 1 ? std::atoi(argv[1]) : 0}, spread_heat);
} catch (const std::exception& error) {
  std::fprintf(stderr, "comm_halo_exchange: %s\n", error.what());
  return 1;
}
