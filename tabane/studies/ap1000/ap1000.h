// The study ap1000: what a message, a broadcast, a global function, gathering and a barrier cost
// between ranks, and which mechanism is worth it.
#pragma once

#include <optional>
#include <string>

#include "tabane/lab/campaign/ranks.h"
#include "tabane/lab/study/study.h"

namespace tabane::lab {

struct Ap1000Options {
  bool quick = false;
  RankOptions ranks;
  double budget_seconds = 0;  // 0: about 2 minutes, quick 20 s
  double most_seconds = 0;    // then the rest stays unmeasured; 0: twice the budget
};

// Under MPI all its processes call it, with the same options; those of other ranks than 0 get null.
// throws: core::UsageError for options that cannot be (fewer than two ranks, no MPI), as
// comm::launch() otherwise.
std::optional<Record> run_ap1000(const core::Topology& topology, const Ap1000Options& options,
                                 const Hooks& hooks = {});

namespace ap1000 {

// Adds tables, charts and fitted lines. pus: that ranks share; 0: not known.
void add_views(Record& record, const Points& points, const std::string& transport, int pus);

}  // namespace ap1000
}  // namespace tabane::lab
