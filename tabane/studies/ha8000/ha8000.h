// The study ha8000: clock-level timing, running on a chosen CPU, memory in a chosen place, and
// SIMD, each with the figures of a guide for a node with 4 sockets × 4 cores.
#pragma once

#include <span>

#include "tabane/core/topology.h"
#include "tabane/lab/campaign/campaign.h"
#include "tabane/lab/record/record.h"
#include "tabane/lab/study/captions.h"

namespace tabane::lab {

// A survey of what the guide demonstrates, with its tables and charts first. A study that the user
// stopped has the survey's part alone. throws: as run_survey().
Record run_ha8000(const core::Topology& topology, bool quick, const Hooks& hooks = {});

namespace ha8000 {

inline constexpr const char* kHere = "this machine";
inline constexpr const char* kReport = "HA8000 (Opteron 8356)";

// How many independent additions keep the adders busy.
int predicted_accumulators(double latency_cycles, double additions_a_cycle);
// The least number, from 1, whose rate is within 3 % of the best. rates: not empty.
int sufficient_accumulators(std::span<const double> rates);

// Measures how the rate of a sum depends on the number of accumulators, unless the study was
// stopped, and shows that and the ladder.
void show_vectors(const StudyViews& views, Record& record, const core::Topology& topology,
                  bool quick);

}  // namespace ha8000
}  // namespace tabane::lab
