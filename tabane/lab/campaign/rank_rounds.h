// Times what several ranks do together. Competitors are measured in turn, as by
// core::measure_interleaved(): in every round each gives one sample, in an order drawn anew.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "tabane/comm/grid.h"

namespace tabane::lab {

// One rank's part of an operation, so many times; all ranks run it at the same time.
using RankWork = std::function<void(std::uint64_t iterations)>;
// Makes a rank's part. All ranks call it, in the same order. Empty, on all ranks: the operation
// cannot be had on this grid.
using RankWorkload = std::function<RankWork(comm::Grid& grid)>;

struct RankRoundsOptions {
  double epoch_seconds = 300e-6;  // a sample takes at least about this long
  double budget_seconds = 0.3;
  int fewest_rounds = 2;  // even when the budget is spent
  int most_rounds = 1000;
  // After that no other operation or round begins, so that some may have no samples. One that has
  // begun is not cut short.
  double most_seconds = std::numeric_limits<double>::infinity();
};

// Samples of each workload, seconds an iteration by the clock of rank 0, one a round: as many of
// each workload as of any other, or none.
using RankSamples = std::vector<std::vector<double>>;

// All ranks of the grid call it with the same workloads; the samples are on rank 0, none elsewhere.
// throws: as the work.
RankSamples measure_rounds(comm::Grid& grid, std::span<const RankWorkload> workloads,
                           const RankRoundsOptions& options);

}  // namespace tabane::lab
