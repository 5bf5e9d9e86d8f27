// SLALOM: as many patches of a box as can be solved in a minute.
//
//   comm::launch(options, [](comm::Comm& comm) {
//     const slalom::Outcome outcome = slalom::solve(comm, {.geometry = "geom", .patches = 2000,
//                                                          .answer = "answer"});
//   });
#pragma once

#include <string>

#include "tabane/solver/solution.h"
#include "tabane/tools/slalom/geometry.h"
#include "tabane/tools/slalom/model.h"

namespace tabane::slalom {

struct Problem {
  std::string geometry;  // file to read
  int patches = 0;
  comm::GridShape grid = {};  // 0: see grid_of()
  int block = 0;              // columns of a panel; 0: see default_block()
  std::string answer = {};    // file to write if the checks pass; empty: none
  std::string picture = {};   // the same
};

struct Outcome {
  // From opening the geometry to closing the answer; operations as the benchmark counts them. The
  // limit is measured for 1000 patches or more.
  solver::Solution solution;
  int patches = 0, block = 0;
  // Of matrix products and factorisations, which are fewer than the benchmark counts.
  double performed = 0;
  solver::Check row_sums;  // if it has failed, nothing was solved

  auto fields() { return std::tie(solution, patches, block, performed, row_sums); }
};

// block: 0: see default_block(). throws: core::UsageError if the box cannot be cut into so few
// patches, or if the grid does not fit `ranks`; core::Error naming the most patches that fit if the
// memory of this machine does not hold them.
void check(const Geometry& geometry, int patches, comm::GridShape grid, int block,
           double usable_bytes);

// Solves, verifies, writes the answer and draws the picture. All ranks call it. Returns the same
// checks on all ranks, and all else on rank 0. throws: as read_geometry(); core::SystemError.
Outcome solve(comm::Comm& comm, const Problem& problem);

}  // namespace tabane::slalom
