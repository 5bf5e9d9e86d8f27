// A program on a simulated machine, as a record: where its time goes, and what it would be with
// changes of the machine and with fewer ranks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tabane/comm/simulated_run.h"
#include "tabane/core/topology.h"
#include "tabane/lab/campaign/campaign.h"
#include "tabane/lab/record_head.h"

namespace tabane::lab {

struct Simulation {
  About about;                       // source: the machine
  std::string what;                  // whose time it is: "a step"
  std::string machine;               // as comm::LaunchOptions, as it is
  std::vector<std::string> changes;  // as there, each alone; empty: the usual ones that it can have
  bool quick = false;                // as it is only, and with all ranks
  double times = 1;                  // `what` in a run
  // Runs the program there, and checks its results.
  std::function<comm::SimulatedRun(const std::string& machine, const std::string& changes)> run;
};

// Simulates the machine as it is, with each change, and then all of these on fewer and fewer ranks.
// If it is stopped, the record has what is known. topology: of this computer. throws:
// core::UsageError if a change cannot be, before anything runs; Stopped if nothing is known yet;
// what run() throws, but for a core::UsageError with fewer ranks, which is noted as skipped.
Record simulate(const core::Topology& topology, const Simulation& simulation, const Hooks& hooks);

}  // namespace tabane::lab
