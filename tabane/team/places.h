// Where the workers of a team run, planned without reading the machine anew for each run.
#pragma once

#include "tabane/core/placement.h"
#include "tabane/core/topology.h"

namespace tabane::team {

// The machine as the calling thread may use it. Read at the first call, and again when the PUs that
// the thread may run on have changed. cost: one system call otherwise.
core::Topology known_topology();
// How many of its PUs can be busy all the time: fewer where a control group limits CPU time. Read
// with it.
int busy_pus();

// core::plan_placement() on known_topology(); on a machine that is not this one nothing is bound.
core::Placement plan_places(core::PlacementPolicy policy, int processes, int threads);

}  // namespace tabane::team
