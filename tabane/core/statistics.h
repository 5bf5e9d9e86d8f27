// What can be said about a series of samples without assuming a distribution.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tabane::core {

struct Interval {
  double low = 0;
  double high = 0;  // >= low

  bool contains(double x) const { return low <= x && x <= high; }
};

// Sample quantile with linear interpolation between order statistics (Hyndman and Fan's type 7).
// samples: not empty; q: 0…1. cost: O(n log n).
double quantile(std::span<const double> samples, double q);
double median(std::span<const double> samples);
double mean(std::span<const double> samples);
// Standard deviation with n - 1; 0 for a single sample.
double standard_deviation(std::span<const double> samples);

// With fewer samples a 95 % interval of a median cannot be had from order statistics.
inline constexpr std::size_t kFewestForInterval = 6;

// Interval of the median from order statistics: the ranks are the narrowest symmetric pair whose
// binomial(n, 1/2) coverage reaches `confidence`. With too few samples to reach it (n < 6 for 95 %)
// it is [min, max]. source: Conover, Practical Nonparametric Statistics, section 3.2.
Interval median_interval(std::span<const double> samples, double confidence = 0.95);

struct Summary {
  std::size_t count = 0;
  double min = 0, median = 0, mean = 0, max = 0;
  double standard_deviation = 0;
  Interval interval;  // 95 % interval of the median
};
Summary summarize(std::span<const double> samples);

// Indices of outliers by the rule "mean + 1 s": samples at least `excess` above the mean of all.
// samples: seconds. source: the rule that the directory-encryption report calls abnormal.
std::vector<std::size_t> outliers_mean_plus(std::span<const double> samples, double excess = 1.0);

// Indices of outliers beyond Tukey's far fences, 3 interquartile ranges outside the quartiles.
std::vector<std::size_t> outliers_far_fence(std::span<const double> samples);

struct Ratio {
  double value = 0;   // median of the pairwise ratios a[i] / b[i]
  Interval interval;  // its 95 % interval from order statistics
  std::size_t pairs = 0;

  // "No difference seen": the interval contains 1.
  bool undecided() const { return interval.contains(1.0); }
};
// Ratio of two series measured in turn: pairing cancels slow drift of the machine.
// a, b: same length, not empty, b[i] > 0.
Ratio interleaved_ratio(std::span<const double> a, std::span<const double> b);

// Intervals of a median that may be looked at after every sample, as often as wanted, also to
// decide when to stop: with the stated confidence all of them hold. An interval made for one number
// of samples claims too much when it is looked at repeatedly.
//
// Each sample is above the true median or not, like a fair coin. The coin's likelihood under a
// head's probability that is uniform over 0…1, over that of a fair one, is a martingale: that it
// ever reaches 1 / alpha has a probability of at most alpha (Ville). A value is in the interval as
// long as the samples above and below it keep that below 1 / alpha.
// source: Robbins, Statistical methods related to the law of the iterated logarithm, Annals of
// Mathematical Statistics 41, 1970; Howard and Ramdas, Sequential estimation of quantiles with
// applications to A/B testing and best-arm identification, Bernoulli 28, 2022.

// The interval of n samples reaches from the rank-th smallest to the rank-th largest; 0: they are
// too few for one. confidence: 0…1, exclusive.
std::size_t running_rank(std::size_t n, double confidence = 0.95);

// With too few samples (fewer than 8 for 95 %) both ends are infinite. samples: not empty.
// cost: O(n log n).
Interval running_median_interval(std::span<const double> samples, double confidence = 0.95);

// As interleaved_ratio(), with a running interval; with too few pairs it reaches from 0 to
// infinity. If the order in each round is drawn anew, it holds for two equal contenders whatever
// the machine does meanwhile: which of the two was slower in a round is then the draw's coin.
Ratio running_ratio(std::span<const double> a, std::span<const double> b, double confidence = 0.95);

// Samples of one figure taken in several passes that are spread over a longer time.
//
// Samples of one pass share what the machine did in those seconds: a neighbour, a frequency, where
// the pages lie. They show how well that moment is known, not how well the machine is. The level
// of the passes counts: each gives one median, and those are the observations.
// source: T. Kalibera and R. Jones, Rigorous Benchmarking in Reasonable Time (2013), sections 5 and
// 6, with medians and order statistics in place of means and normal distributions.

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

// Returns the probability that two series of these sizes differ so much or more if they are samples
// of the same thing: the two-sided chance of the rank-sum test, with mean ranks for equal
// samples. Exact for up to 40 samples together whatever their distribution, so of 6 and 6 never
// below 0.2 %; beyond, by the normal distribution. source: Wilcoxon; Mann and Whitney; Conover,
// section 5.1. a, b: not empty, in any order. cost: O(n^4) for up to 40 samples n, O(n log n)
// beyond.
double rank_sum_chance(std::span<const double> a, std::span<const double> b);

}  // namespace tabane::core
