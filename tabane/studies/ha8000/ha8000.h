// The study ha8000: clock-level timing, running on a chosen CPU, memory in a chosen place, and
// SIMD, each with the figures of a guide for a node with 4 sockets × 4 cores.
#pragma once

#include "tabane/core/topology.h"
#include "tabane/lab/campaign/campaign.h"
#include "tabane/lab/record/record.h"

namespace tabane::lab {

// A survey of what the guide demonstrates, with its tables and charts first. A study that the user
// stopped has the survey's part alone. throws: as run_survey().
Record run_ha8000(const core::Topology& topology, bool quick, const Hooks& hooks = {});

}  // namespace tabane::lab
