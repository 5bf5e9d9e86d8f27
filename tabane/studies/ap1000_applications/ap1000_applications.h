// The study ap1000-applications: LINPACK, SCG and SLALOM on ranks of this machine, with the
// mechanisms of message handling switched on one by one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tabane/lab/campaign/ranks.h"
#include "tabane/lab/study/study.h"
#include "tabane/studies/ap1000_applications/runs.h"

namespace tabane::lab {

struct Ap1000ApplicationsOptions {
  bool quick = false;
  // most_ranks 0: the PUs, but at least 2 x 2; over MPI or simulated all ranks.
  RankOptions ranks;
  comm::GridShape grid = {};  // of the most ranks; zeros: as the applications choose
  // That SLALOM may take where the largest problem is sought; 0: 1, quick 0.2, simulated 60.
  double seconds = 0;
  double block_seconds = 0;  // of each problem, at least a few rounds; 0: 12, quick 2
  // On a simulated machine: what changes in it where messages are conventional ones, of which the
  // report gives no cost.
  std::string conventional = "setup=5";
};

// Under MPI all its processes call it, with the same options; those of other ranks than 0 get null.
// throws: core::UsageError for options that cannot be; as comm::launch() otherwise.
std::optional<Record> run_ap1000_applications(const core::Topology& topology,
                                              const Ap1000ApplicationsOptions& options,
                                              const Hooks& hooks = {});

namespace ap1000_applications {

// The last run at each point, for what is not a figure of its own.
using LastRuns = std::map<std::string, Outcome>;
std::string key_of(const Factors& factors);

inline constexpr int kSimulated = -1;

// Adds tables, charts and pictures. counted: a run with each set of an application, on the most
// ranks. pus: that the ranks share; 0: not known; kSimulated: the ranks are simulated.
void add_views(Record& record, const Points& points, const LastRuns& last, const LastRuns& counted,
               int pus, const Pictures& pictures);

}  // namespace ap1000_applications
}  // namespace tabane::lab
