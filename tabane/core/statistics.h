// What can be said about a series of samples without assuming a distribution.
#pragma once

#include <cstddef>
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

}  // namespace tabane::core
