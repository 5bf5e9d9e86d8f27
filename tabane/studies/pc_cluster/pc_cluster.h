// The study pc-cluster: double and multiple precision, copying, and messages inside a node and
// between nodes, to compare machines by.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tabane/lab/probes/rank_link.h"
#include "tabane/lab/study/study.h"

namespace tabane::lab {

struct PcClusterOptions {
  bool quick = false;
  std::vector<std::string> hosts;  // none, or two to measure between
  double watch_seconds = 0;        // the rate between them is watched; 0: 10, quick 2
  int most_ranks = 0;              // 0: the PUs
  double budget_seconds = 0;       // 0: about 2 minutes, quick 20 s
  // The program that starts two ranks, on these hosts if there are any, which answer ask_link().
  // Empty: none can be started. throws: core::UsageError if there is none.
  std::function<core::HelperProgram(const std::vector<std::string>& hosts, const LinkRequest&)>
      link_program = {};
};

// Where an MPI launcher has started this process, only what its ranks can measure: messages. All
// ranks call it then, and those other than 0 get null.
// throws: core::UsageError for options that cannot be; as comm::launch() otherwise.
std::optional<Record> run_pc_cluster(const core::Topology& topology,
                                     const PcClusterOptions& options, const Hooks& hooks = {});

namespace pc_cluster {

// Adds tables and charts.
void add_views(Record& record, const Points& points);

}  // namespace pc_cluster
}  // namespace tabane::lab
