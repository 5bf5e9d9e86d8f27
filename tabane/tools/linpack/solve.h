// Dense systems of equations, as the LINPACK benchmark solves them.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "tabane/comm/grid.h"
#include "tabane/solver/solution.h"
#include "tabane/tools/linpack/elimination.h"
#include "tabane/tools/linpack/system.h"

namespace tabane::linpack {

struct Options {
  int block = 0;              // columns of a panel; 0: default_block()
  comm::GridShape grid = {};  // zeros: as fit_grid() chooses
  EliminationOptions elimination = {};
  bool measure_limit = false;  // the rate of matrix products; warms up, too
};

struct Answer {
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
// cost: see model.h.
Answer solve(comm::Comm& comm, const System& system, const Options& options = {});

// The same on the calling process alone, plainly: x, or nothing if the matrix is singular.
std::vector<double> solve_ref(const System& system);

}  // namespace tabane::linpack
