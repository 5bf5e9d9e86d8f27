#include "tabane/core/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tabane/core/error.h"

namespace tabane::core {
namespace {

std::vector<double> sorted(std::span<const double> samples) {
  TABANE_ASSERT(!samples.empty());
  std::vector<double> s(samples.begin(), samples.end());
  std::ranges::sort(s);
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
  for (std::size_t i = 0; i < samples.size(); ++i)
    if (samples[i] >= threshold) found.push_back(i);
  return found;
}

std::vector<std::size_t> outliers_far_fence(std::span<const double> samples) {
  const std::vector<double> s = sorted(samples);
  const double q1 = quantile_of_sorted(s, 0.25);
  const double q3 = quantile_of_sorted(s, 0.75);
  const double reach = 3 * (q3 - q1);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < samples.size(); ++i)
    if (samples[i] < q1 - reach || samples[i] > q3 + reach) found.push_back(i);
  return found;
}

namespace {

std::vector<double> ratios_of(std::span<const double> a, std::span<const double> b) {
  TABANE_ASSERT(a.size() == b.size() && !a.empty());
  std::vector<double> ratios(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) ratios[i] = a[i] / b[i];
  return ratios;
}

// Logarithm of the likelihood ratio when k of n samples are below: 2^n / ((n + 1) C(n, k)).
double log_evidence(double n, double k) {
  const double log_choices = std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
  return n * std::log(2.0) - std::log(n + 1) - log_choices;
}

}  // namespace

Ratio interleaved_ratio(std::span<const double> a, std::span<const double> b) {
  const Ratio ratio = ratio_of_passes(a, b, {});
  TABANE_ASSERT(std::ranges::min(b) > 0);
  return ratio;
}

std::size_t running_rank(std::size_t n, double confidence) {
  TABANE_ASSERT(confidence > 0 && confidence < 1);
  const double enough = -std::log(1 - confidence);
  const auto decided = [&](std::size_t below) {
    return log_evidence(static_cast<double>(n), static_cast<double>(below)) >= enough;
  };
  // The evidence falls up to the middle: the first that is not enough is the rank.
  std::size_t low = 0, high = n / 2 + 1;
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (decided(middle))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

Interval running_median_interval(std::span<const double> samples, double confidence) {
  TABANE_ASSERT(!samples.empty());
  const std::size_t rank = running_rank(samples.size(), confidence);
  constexpr double kNoEnd = std::numeric_limits<double>::infinity();
  if (rank == 0) return {-kNoEnd, kNoEnd};
  const std::vector<double> s = sorted(samples);
  return {s[rank - 1], s[s.size() - rank]};
}

Ratio running_ratio(std::span<const double> a, std::span<const double> b, double confidence) {
  const std::vector<double> ratios = ratios_of(a, b);
  TABANE_ASSERT(std::ranges::min(b) > 0);
  Interval interval = running_median_interval(ratios, confidence);
  interval.low = std::max(0.0, interval.low);
  return {.value = median(ratios), .interval = interval, .pairs = ratios.size()};
}

namespace {

constexpr std::size_t kFewestSamples = 20;
constexpr double kSmallestGroup = 0.15;  // share of the samples
constexpr double kDistance = 0.10;       // of the groups' means, as a share of the mean of all
constexpr double kExplained = 0.90;      // share of the variance that is between the groups

}  // namespace

std::vector<double> pass_medians(std::span<const double> samples, const PassSizes& passes) {
  if (passes.size() < 2) return {samples.begin(), samples.end()};
  std::vector<double> medians;
  std::size_t begin = 0;
  for (const std::size_t size : passes) {
    TABANE_ASSERT(begin + size <= samples.size());
    if (size > 0) medians.push_back(median(samples.subspan(begin, size)));
    begin += size;
  }
  return medians;
}

PassSummary summarize_passes(std::span<const double> samples, const PassSizes& passes) {
  const std::vector<double> observations = pass_medians(samples, passes);
  return {median(observations), median_interval(observations), observations.size()};
}

Ratio ratio_of_passes(std::span<const double> a, std::span<const double> b,
                      const PassSizes& passes) {
  const PassSummary summary = summarize_passes(ratios_of(a, b), passes);
  return {summary.median, summary.interval, a.size()};
}

std::optional<TwoStates> two_states(std::span<const double> samples) {
  if (samples.size() < kFewestSamples) return std::nullopt;
  const std::vector<double> s = sorted(samples);
  const auto n = static_cast<double>(s.size());
  const double sum = std::accumulate(s.begin(), s.end(), 0.0);
  double total = 0;
  for (const double x : s) total += (x - sum / n) * (x - sum / n);
  double most = 0, apart_there = 0, low_sum = 0;
  std::size_t cut = 0;
  for (std::size_t i = 1; i < s.size(); ++i) {
    low_sum += s[i - 1];
    const auto low = static_cast<double>(i);
    if (low < kSmallestGroup * n || n - low < kSmallestGroup * n) continue;
    const double apart = (sum - low_sum) / (n - low) - low_sum / low;
    const double between = low * (n - low) / n * apart * apart;
    if (between <= most) continue;
    most = between;
    apart_there = apart;
    cut = i;
  }
  if (most <= kExplained * total || apart_there <= kDistance * std::abs(sum / n))
    return std::nullopt;
  const std::span<const double> all(s);
  return TwoStates{median(all.first(cut)), median(all.subspan(cut)),
                   static_cast<double>(s.size() - cut) / n};
}

namespace {

// Twice the mean rank of each sample of `s`, which is sorted: an integer. Ranks count from 1.
std::vector<std::size_t> doubled_ranks(std::span<const double> s) {
  std::vector<std::size_t> ranks(s.size());
  for (std::size_t first = 0, end = 0; first < s.size(); first = end) {
    while (end < s.size() && s[end] == s[first]) ++end;
    std::fill(ranks.begin() + static_cast<std::ptrdiff_t>(first),
              ranks.begin() + static_cast<std::ptrdiff_t>(end), first + 1 + end);
  }
  return ranks;
}

// Of all ways to choose k of the ranks, the share whose sum is at least `distance` from the mean of
// all, k / n of the sum of all ranks: a distance in units of 1 / n.
double share_of_choices(std::span<const std::size_t> ranks, std::size_t k, double distance) {
  const std::size_t total = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  // ways[j][sum]: to choose j of the ranks seen so far with this sum
  std::vector<std::vector<double>> ways(k + 1, std::vector<double>(total + 1));
  ways[0][0] = 1;
  std::size_t most = 0;  // the sum of those seen
  for (const std::size_t rank : ranks) {
    for (std::size_t j = k; j-- > 0;)
      for (std::size_t sum = 0; sum <= most; ++sum) ways[j + 1][sum + rank] += ways[j][sum];
    most += rank;
  }
  const auto n = static_cast<double>(ranks.size());
  const double mean = static_cast<double>(k) * static_cast<double>(total);
  double far = 0, all = 0;
  for (std::size_t sum = 0; sum <= total; ++sum) {
    all += ways[k][sum];
    if (std::abs(n * static_cast<double>(sum) - mean) >= distance) far += ways[k][sum];
  }
  return far / all;
}

}  // namespace

double rank_sum_chance(std::span<const double> a, std::span<const double> b) {
  TABANE_ASSERT(!a.empty() && !b.empty());
  constexpr std::size_t kMostForExact = 40;
  std::vector<double> both(a.begin(), a.end());
  both.insert(both.end(), b.begin(), b.end());
  std::ranges::sort(both);
  const std::vector<std::size_t> ranks = doubled_ranks(both);
  double of_a = 0, total = 0, squares = 0;
  for (const double x : a) {
    of_a += static_cast<double>(
        ranks[static_cast<std::size_t>(std::ranges::lower_bound(both, x) - both.begin())]);
  }
  for (const std::size_t rank : ranks) {
    total += static_cast<double>(rank);
    squares += static_cast<double>(rank) * static_cast<double>(rank);
  }
  const auto n = static_cast<double>(both.size()), k = static_cast<double>(a.size());
  const double distance = std::abs(n * of_a - k * total);
  if (both.size() <= kMostForExact) return share_of_choices(ranks, a.size(), distance);
  const double variance =
      k * (n - k) / (n - 1) * (squares - total * total / n);  // n times the sum's
  return variance > 0 ? std::erfc(distance / std::sqrt(2 * n * variance)) : 1;
}

}  // namespace tabane::core
