// Dense systems of equations, as the LINPACK benchmark solves them.
#pragma once

#include <tuple>
#include <vector>

#include "tabane/comm/grid.h"
#include "tabane/solver/solution.h"
#include "tabane/tools/linpack/elimination.h"
#include "tabane/tools/linpack/system.h"

namespace tabane::linpack {

struct SolveOptions {
  int block = 0;              // columns of a panel; 0: default_block(), or kBlockByRows
  comm::GridShape grid = {};  // zeros: as fit_grid() chooses
  Messages messages = Messages::look_ahead;
  bool measure_limit = false;  // the rate of matrix products; warms up, too
};

struct SolvedSystem {
  solver::Solution solution;
  int n = 0, block = 0;
  int defect = -1;        // the first column, from 0, that has no pivot: then there is no x; or -1
  double error = 0;       // of any x[i], at most and about, over the largest |x[i]|: see accuracy.h
  std::vector<double> x;  // on rank 0

  auto fields() { return std::tie(solution, n, block, defect, error, x); }
};

// Solves the system on all ranks, which all call it, and checks x. Its steps and seconds are those
// of elimination and substitution. throws: core::UsageError if the options cannot be meant, or if
// memory does not suffice (with the largest n that fits); core::SystemError.
// cost: operations() and bytes_needed() below.
SolvedSystem solve(comm::Comm& comm, const System& system, const SolveOptions& options = {});

// Columns of a panel where rows and columns are exchanged one by one: fitted to what the AP1000
// took for 1000 equations, as that of its program is not known.
inline constexpr int kBlockByRows = 20;

inline constexpr int kMostEquations = 1000000, kMostBlock = 4096;

// Returns the columns of a panel: few where panels would otherwise be a large part of the work, as
// many as keep the update busy where they are not.
int default_block(int n, comm::GridShape grid);

// Returns n where none is given: what takes some seconds, or what an eighth of the memory holds if
// that is less. memory: bytes of all ranks.
int default_size(int ranks, double memory);

// Returns the largest n whose system fits into so many bytes, in panels of `block` columns.
// from_file: counts the matrix, too, that the caller has read and that the ranks share.
int largest_that_fits(double memory, int block, comm::GridShape grid, bool from_file = false);

// throws: core::UsageError, naming the largest n that fits, if the system does not fit.
void require_memory(int n, int block, comm::GridShape grid, double memory, bool from_file = false);

// The operations of n equations, as High-Performance Linpack counts them, whatever is really done.
inline double operations(double n) { return 2 * n * n * n / 3 + 3 * n * n / 2; }

// The memory that all ranks together take, in bytes: the matrix with its right side; two panels,
// that in use and the next one, the rows that are swapped, and what the check takes, on each rank.
inline double bytes_needed(double n, int block, int rows, int columns) {
  const double panel = (n / rows + block + 16) * block;
  const double swapped = rows > 1 ? 3 * (n / columns + block) * block : 0;
  return 8 * ((n + 16 * rows) * (n + 1) + rows * columns * (2 * panel + swapped + 10 * n));
}

}  // namespace tabane::linpack
