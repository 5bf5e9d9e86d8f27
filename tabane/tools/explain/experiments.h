// The runs of a command by which its time is explained: in turn, each with one thing changed.
#pragma once

#include "tabane/core/topology.h"
#include "tabane/lab/campaign/campaign.h"
#include "tabane/tools/explain/evidence.h"
#include "tabane/tools/explain/ways.h"

namespace tabane::lab::explain {

// Runs the command for about request.seconds. What the user stops after a round is incomplete.
// throws: core::Error if the command cannot be run, or not again; Stopped before the first round.
Evidence gather(const Request& request, const core::Topology& topology, const Hooks& hooks);

}  // namespace tabane::lab::explain
