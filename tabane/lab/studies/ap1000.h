// The study ap1000: what a message, a broadcast, a global function, gathering and a barrier cost
// between ranks, and which mechanism is worth it.
#pragma once

#include <optional>
#include <string>

#include "tabane/comm/launch.h"
#include "tabane/lab/study.h"

namespace tabane::lab {

inline constexpr int kMostRanksForked = 4096;  // as comm::launch()

struct Ap1000Options {
  bool quick = false;
  comm::TransportKind transport = comm::TransportKind::automatic;
  int most_ranks = 0;         // 0: four times the PUs; over MPI as many as there are
  double budget_seconds = 0;  // 0: about 2 minutes, quick 20 s
  double most_seconds = 0;    // then the rest stays unmeasured; 0: twice the budget
};

// Under MPI all its processes call it, with the same options; those of other ranks than 0 get null.
// throws: core::UsageError for options that cannot be (fewer than two ranks, no MPI), as
// comm::launch() otherwise.
std::optional<Study> run_ap1000(const core::Topology& topology, const Ap1000Options& options,
                                const SurveyHooks& hooks = {});

// Measures every algorithm of the collectives over sizes and numbers of ranks.
struct Ap1000Calibration {
  Study study;         // what is gained by the rules
  std::string choice;  // rules for comm::LaunchOptions::choice_file
};
// As run_ap1000().
std::optional<Ap1000Calibration> calibrate_ap1000(const core::Topology& topology,
                                                  const Ap1000Options& options,
                                                  const SurveyHooks& hooks = {});

}  // namespace tabane::lab
