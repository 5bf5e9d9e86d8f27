// The steps whose times are told.
#pragma once

#include "tabane/comm/steps.h"

namespace tabane::linpack {

enum Step { kPanel, kPivot, kSwap, kBroadcast, kWaiting, kUpdate, kSubstitution };

inline comm::Steps make_steps(comm::Comm& comm) {
  return {comm, {"panel", "pivot", "swap", "broadcast", "waiting", "update", "substitution"}};
}

}  // namespace tabane::linpack
