// The loop of the conjugate gradients.
#pragma once

#include "tabane/comm/steps.h"
#include "tabane/tools/scg/halo.h"
#include "tabane/tools/scg/system.h"

namespace tabane::scg {

enum Step { kDirection, kUpdate, kHalo, kWaiting, kReductions, kRest, kSteps };

struct Progress {
  std::size_t iterations = 0;
  bool converged = false;
  double residual = 0;  // ||r|| / ||b||, both scaled
};

// Sets x of the system, scaled as it is. All ranks call it; it begins on all at the same time.
Progress iterate(comm::Comm& comm, System& system, Halo& halo, comm::Steps& steps, double tolerance,
                 std::size_t most_iterations);

}  // namespace tabane::scg
