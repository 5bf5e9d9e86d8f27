// Samples of one figure taken in several passes that are spread over a longer time.
//
// Samples of one pass share what the machine did in those seconds: a neighbour, a frequency, where
// the pages lie. They show how well that moment is known, not how well the machine is. The level
// of the passes counts: each gives one median, and those are the observations.
// source: T. Kalibera and R. Jones, Rigorous Benchmarking in Reasonable Time (2013), sections 5 and
// 6, with medians and order statistics in place of means and normal distributions.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "tabane/core/statistics.h"

namespace tabane::core {

// How many samples each pass took, in order; their sum is the number of samples. Empty: one pass.
using PassSizes = std::vector<std::size_t>;

// One median for each pass that has samples; for a single pass the samples themselves.
std::vector<double> pass_medians(std::span<const double> samples, const PassSizes& passes);

// Median of the passes' medians and its 95 % interval (median_interval() of them). With two to
// five passes the interval is their whole range, which holds the median less often: 1 - 2^(1 - n).
// samples: not empty.
struct PassSummary {
  double median = 0;
  Interval interval;
  std::size_t observations = 0;  // the passes, or the samples of a single one
};
PassSummary summarize_passes(std::span<const double> samples, const PassSizes& passes);

// Ratio of two series measured in turn, over passes. a, b: as in interleaved_ratio().
Ratio ratio_of_passes(std::span<const double> a, std::span<const double> b,
                      const PassSizes& passes);

// A figure that has two values: at times one, at times the other.
struct TwoStates {
  double low = 0, high = 0;  // medians of the two groups
  double high_share = 0;     // of the samples
};

// Splits samples by Otsu's criterion, the cut that leaves the least variance inside two groups.
// Null unless each group has 15 % of the samples, the groups are at least 10 % of the mean apart
// and explain 90 % of the variance (two groups explain 64 % if normal, 75 % if uniform). It takes
// 20 samples. source: N. Otsu, A threshold selection method from gray-level histograms (1979).
std::optional<TwoStates> two_states(std::span<const double> samples);

}  // namespace tabane::core
