#include "tabane/tools/scg/block.h"

#include <fmt/format.h>

#include <algorithm>

#include "tabane/core/error.h"

namespace tabane::scg {
namespace {

bool fits(comm::GridShape grid, const Problem& problem) {
  return static_cast<std::size_t>(grid.rows) <= problem.rows &&
         static_cast<std::size_t>(grid.columns) <= problem.columns;
}

// Of the rank that has the most neighbours.
double halo_cost(comm::GridShape grid, const Problem& problem) {
  const double across = std::min(2, grid.rows - 1), along = std::min(2, grid.columns - 1);
  return across * static_cast<double>(problem.columns) / grid.columns +
         2 * along * static_cast<double>(problem.rows) / grid.rows;
}

// Null rows: none fits.
comm::GridShape best_grid(int ranks, const Problem& problem, comm::GridShape wanted) {
  comm::GridShape best{};
  for (int rows = ranks; rows >= 1; --rows) {
    const comm::GridShape grid{rows, ranks / rows};
    if (ranks % rows != 0 || !fits(grid, problem)) continue;
    if ((wanted.rows != 0 && wanted.rows != rows) ||
        (wanted.columns != 0 && wanted.columns != grid.columns)) {
      continue;
    }
    if (best.rows == 0 || halo_cost(grid, problem) < halo_cost(best, problem)) best = grid;
  }
  return best;
}

struct Part {
  std::size_t first = 0, size = 0;
};
Part part_of(std::size_t whole, int parts, int part) {
  const auto p = static_cast<std::size_t>(parts), i = static_cast<std::size_t>(part);
  const std::size_t first = whole * i / p;
  return {first, whole * (i + 1) / p - first};
}

}  // namespace

comm::GridShape choose_grid(int ranks, const Problem& problem, comm::GridShape wanted) {
  const comm::GridShape grid = best_grid(ranks, problem, wanted);
  if (grid.rows != 0) return grid;
  if (wanted.rows != 0 && wanted.columns != 0) {
    comm::fit_grid(ranks, wanted);
    throw core::UsageError(fmt::format("--grid {}x{} does not fit a mesh of {} x {} unknowns",
                                       wanted.rows, wanted.columns, problem.rows, problem.columns));
  }
  throw core::UsageError(
      fmt::format("no grid of {} ranks fits a mesh of {} x {} unknowns: give --ranks {}", ranks,
                  problem.rows, problem.columns, most_ranks(ranks, problem)));
}

int most_ranks(int limit, const Problem& problem) {
  int ranks = limit;
  while (ranks > 1 && best_grid(ranks, problem, {}).rows == 0) --ranks;
  return ranks;
}

Block block_of(const Problem& problem, comm::GridShape grid, int rank) {
  const int row = rank / grid.columns, column = rank % grid.columns;
  const Part rows = part_of(problem.rows, grid.rows, row);
  const Part columns = part_of(problem.columns, grid.columns, column);
  Block block{rows.first, rows.size, columns.first, columns.size};
  if (row > 0) block.neighbours[kNorth] = rank - grid.columns;
  if (row + 1 < grid.rows) block.neighbours[kSouth] = rank + grid.columns;
  if (column > 0) block.neighbours[kWest] = rank - 1;
  if (column + 1 < grid.columns) block.neighbours[kEast] = rank + 1;
  return block;
}

}  // namespace tabane::scg
