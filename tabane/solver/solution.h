// What every solver tells of its run.
#pragma once

#include <string>
#include <tuple>

#include "tabane/comm/steps.h"

namespace tabane::solver {

struct Check {
  double residual = 0, tolerance = 0;
  bool complete = true;  // whether the solver came to its end, and proved what it was to prove
  bool passed() const { return complete && residual <= tolerance; }  // not for NaN
};

struct Solution {
  int ranks = 1, rows = 1, columns = 1;  // of the grid
  double seconds = 0;                    // of what is timed, wall time of the slowest rank
  double operations = 0;                 // as the benchmark counts them
  double limit = 0;                      // operations per second that the machine allows; 0: not
                                         // measured
  std::string limit_is;                  // "DGEMM on all ranks"
  Check check;
  comm::StepTable steps;

  double rate() const { return operations / seconds; }
  auto fields() {
    return std::tie(ranks, rows, columns, seconds, operations, limit, limit_is, check, steps);
  }
};

}  // namespace tabane::solver
