// The study ap1000: what a message, a broadcast, a global function, gathering and a barrier cost
// between ranks, and which mechanism is worth it.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

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

// Two PUs that have no more in common than this: "core", "cache" (the largest), "node", "package"
// or "machine".
struct Distance {
  std::string within;
  std::array<unsigned, 2> pus;  // os indices
};
// One pair of PUs for each distance that there is, the nearest first.
std::vector<Distance> distances(std::span<const core::Pu> pus);

struct RanksOfStudy {
  std::string transport;
  int pus = 0;  // that the ranks share; 0: not known
  std::vector<Distance> distances = {};
  bool is_simulated = false;
};

// Adds tables, charts and fitted lines.
void add_views(Record& record, const Points& points, const RanksOfStudy& ranks);

}  // namespace ap1000
}  // namespace tabane::lab
