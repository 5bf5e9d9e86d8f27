// The study ha8000: clock-level timing, running on a chosen CPU, memory in a chosen place, and
// SIMD, each with the figures of a guide for a node with 4 sockets × 4 cores.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tabane/core/core_rate.h"
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

struct OnCpu {
  int runs_on = -1;  // < 0: the system refused
  std::optional<double> rate, tick_rate;
  std::optional<core::TickSkew> skew;  // of its tick counter against the first CPU's
};

struct Sweep {
  std::vector<double> rates;  // additions a second with 1, 2 … accumulators
  double adders = 0;          // additions a second of the adders alone
  double cycles = 0;          // core cycles a second
};
// In turn.
Sweep sweep(unsigned pu, bool quick);

// What a survey does not measure.
struct Measured {
  // Of an iteration, additions at -O0, -O1 and -O2, then multiplications.
  std::vector<std::vector<double>> cycles;
  std::vector<OnCpu> cpus;  // the topology's PUs
  Sweep sweep;
};

// Adds tables, charts and results to a survey. measured: null if the study was stopped before.
void add_views(Record& record, const core::Topology& topology, const Measured* measured);
// Those of vectors. found: null: without how the rate depends on the number of accumulators.
void show_vectors(const StudyViews& views, Record& record, const Sweep* found);

}  // namespace ha8000
}  // namespace tabane::lab
