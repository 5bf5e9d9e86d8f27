#include "tabane/core/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tabane/core/error.h"

namespace tabane::core {
namespace {

std::vector<double> sorted(std::span<const double> samples) {
  TABANE_ASSERT(!samples.empty());
  std::vector<double> s(samples.begin(), samples.end());
  std::sort(s.begin(), s.end());
  return s;
}

double quantile_of_sorted(std::span<const double> s, double q) {
  const double position = q * static_cast<double>(s.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  if (below + 1 >= s.size()) return s.back();
  const double fraction = position - static_cast<double>(below);
  return s[below] + fraction * (s[below + 1] - s[below]);
}

// Largest k with P(X < k) <= (1 - confidence) / 2 for X ~ binomial(n, 1/2): the median lies between
// the k-th smallest and the k-th largest sample with at least `confidence`. 0: no k reaches it.
std::size_t median_rank(std::size_t n, double confidence) {
  const double tail = (1 - confidence) / 2;
  const double log_half_n = -static_cast<double>(n) * std::log(2.0);
  double cumulative = 0;
  std::size_t k = 0;
  double log_choose = 0;  // log of n over k
  while (k < n / 2 + 1) {
    cumulative += std::exp(log_choose + log_half_n);
    if (cumulative > tail) break;
    ++k;
    log_choose += std::log(static_cast<double>(n - k + 1)) - std::log(static_cast<double>(k));
  }
  return k;
}

Interval median_interval_of_sorted(std::span<const double> s, double confidence) {
  const std::size_t k = median_rank(s.size(), confidence);
  if (k == 0) return {s.front(), s.back()};
  return {s[k - 1], s[s.size() - k]};
}

}  // namespace

double quantile(std::span<const double> samples, double q) {
  TABANE_ASSERT(q >= 0 && q <= 1);
  return quantile_of_sorted(sorted(samples), q);
}

double median(std::span<const double> samples) { return quantile(samples, 0.5); }

double mean(std::span<const double> samples) {
  TABANE_ASSERT(!samples.empty());
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

double standard_deviation(std::span<const double> samples) {
  const double m = mean(samples);
  if (samples.size() < 2) return 0;
  double squares = 0;
  for (double x : samples) squares += (x - m) * (x - m);
  return std::sqrt(squares / static_cast<double>(samples.size() - 1));
}

Interval median_interval(std::span<const double> samples, double confidence) {
  return median_interval_of_sorted(sorted(samples), confidence);
}

Summary summarize(std::span<const double> samples) {
  const std::vector<double> s = sorted(samples);
  return {.count = s.size(),
          .min = s.front(),
          .median = quantile_of_sorted(s, 0.5),
          .mean = mean(s),
          .max = s.back(),
          .standard_deviation = standard_deviation(s),
          .interval = median_interval_of_sorted(s, 0.95)};
}

std::vector<std::size_t> outliers_mean_plus(std::span<const double> samples, double excess) {
  const double threshold = mean(samples) + excess;
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i] >= threshold) found.push_back(i);
  }
  return found;
}

std::vector<std::size_t> outliers_far_fence(std::span<const double> samples) {
  const std::vector<double> s = sorted(samples);
  const double q1 = quantile_of_sorted(s, 0.25);
  const double q3 = quantile_of_sorted(s, 0.75);
  const double reach = 3 * (q3 - q1);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i] < q1 - reach || samples[i] > q3 + reach) found.push_back(i);
  }
  return found;
}

Ratio interleaved_ratio(std::span<const double> a, std::span<const double> b) {
  TABANE_ASSERT(a.size() == b.size() && !a.empty());
  std::vector<double> ratios(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    TABANE_ASSERT(b[i] > 0);
    ratios[i] = a[i] / b[i];
  }
  return {.value = median(ratios), .interval = median_interval(ratios), .pairs = ratios.size()};
}

}  // namespace tabane::core
