// SLALOM as a benchmark: the largest number of patches that is solved in time.
#pragma once

#include <functional>

#include "tabane/tools/slalom/search.h"
#include "tabane/tools/slalom/solve.h"

namespace tabane::slalom {

struct Trial {
  int patches = 0;
  double seconds = 0;
};

// Solves problems of several sizes and returns the outcome of the largest one that lasted less than
// limits.seconds, to whose patches the files belong; on ranks other than 0 only its checks count.
// problem.patches is not used. on_trial: called on rank 0 after each run. All ranks call it.
// throws: as solve(); core::Error if not even the fewest patches are solved in time. Stops at the
// first run whose checks fail, and returns that.
Outcome solve_largest(comm::Comm& comm, const Problem& problem, const Limits& limits,
                      const std::function<void(const Trial&)>& on_trial);

}  // namespace tabane::slalom
