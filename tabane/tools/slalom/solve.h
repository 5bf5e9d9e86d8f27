// SLALOM: as many patches of a box as can be solved in a minute.
//
//   comm::launch(options, [](comm::Comm& comm) {
//     const slalom::SolvedBox answer = slalom::solve(comm, {.geometry = "geom", .patches = 2000,
//                                                        .answer = "answer"});
//   });
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <tuple>

#include "tabane/comm/grid.h"
#include "tabane/solver/solution.h"
#include "tabane/tools/slalom/geometry.h"

namespace tabane::slalom {

struct Problem {
  std::string geometry;  // file to read
  int patches = 0;
  comm::GridShape grid = {};  // 0: see grid_of()
  int block = 0;              // columns of a panel; 0: see default_block()
  std::string answer = {};    // file to write if the checks pass; empty: none
  std::string picture = {};   // the same
  bool measure_limit = true;  // not where time is simulated
};

struct SolvedBox {
  // From opening the geometry to closing the answer; operations as the benchmark counts them. The
  // limit is measured for 1000 patches or more.
  solver::Solution solution;
  int patches = 0, block = 0;
  // Of matrix products and factorisations, which are fewer than the benchmark counts.
  double performed = 0;
  solver::Check row_sums;  // if it has failed, nothing was solved

  auto fields() { return std::tie(solution, patches, block, performed, row_sums); }
};

// throws: core::UsageError if the box cannot be cut into so few patches; core::Error naming the
// most patches that fit if `usable_bytes` do not hold them.
void check(const Geometry& geometry, int patches, comm::GridShape grid, int block,
           double usable_bytes);

// Solves, verifies, writes the answer and draws the picture. All ranks call it. Returns the same
// checks on all ranks, and all else on rank 0. throws: as read_geometry(); core::SystemError.
SolvedBox solve(comm::Comm& comm, const Problem& problem);

// Limits of the search for the largest problem that can be solved in a given time.
struct SearchLimits {
  double seconds = 60;
  int least = 6, most = 1 << 20;  // patches that may be tried
  int most_runs = 6;
};

// Finds the largest n whose run lasts less than the limit, to 1 %: bisects where t = a n^2 + b n^3,
// through the last two runs, meets the limit. run: solves for n and returns the
// seconds, or a negative number to stop. rate: of matrix products, in operations per second, for
// the first guess. Returns the largest n that was solved in time, 0 if none.
int largest_in(const SearchLimits& limits, double rate, const std::function<double(int)>& run);

struct TimedRun {
  int patches = 0;
  double seconds = 0;
};

// Solves problems of several sizes and returns the answer of the largest one that lasted less than
// limits.seconds, to whose patches the files belong; on ranks other than 0 only its checks count.
// problem.patches is not used. on_run: called on rank 0 after each run. All ranks call it.
// throws: as solve(); core::Error if not even the fewest patches are solved in time. Stops at the
// first run whose checks fail, and returns that.
SolvedBox solve_largest(comm::Comm& comm, const Problem& problem, const SearchLimits& limits,
                        const std::function<void(const TimedRun&)>& on_run);

// How the benchmark counts: in 1990 and since its revision.
enum class Revision { r152, r126 };

// Returns the operations as the benchmark counts them, whatever is done. source: its operation
// counts, with + - x and comparison 1, division and square root 4, atan and log 8.
double counted_operations(const Geometry& geometry, int patches, Revision revision);

// Returns the multiplications and additions of matrix products and factorisations that are done: (n
// - f)^2 n for f patches on the first face.
double performed_operations(int first_face, int patches);

// Returns what all ranks together take, in bytes: three times the lower part of a matrix of n - f
// rows, the couplings of the first face, the panels. block: columns of a panel; 0: see
// default_block().
std::size_t bytes_of_ranks(const Geometry& geometry, int patches, comm::GridShape grid,
                           int block = 0);
// Returns the most patches that fit into so many bytes; 0: not even the fewest.
int most_patches(const Geometry& geometry, double bytes, comm::GridShape grid, int block = 0);

}  // namespace tabane::slalom
