// What all solvers have in common: what they report of a run, and the memory that they demand.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "tabane/comm/steps.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"

namespace tabane::solver {

struct Check {
  double residual = 0, tolerance = 0;
  bool complete = true;  // whether the solver converged, and proved what it had to
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

// throws: Error if `needed` bytes are more than `usable` ones. sentence: makes its text of both, as
// "1.5 GiB".
template <class Error = core::UsageError, class Sentence>
void require_memory(double needed, double usable, const Sentence& sentence) {
  if (needed <= usable) return;
  const auto text = [](double bytes) {
    return core::format_bytes(static_cast<std::uint64_t>(bytes));
  };
  throw Error(sentence(text(needed), text(usable)));
}

}  // namespace tabane::solver
