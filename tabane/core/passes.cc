#include "tabane/core/passes.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tabane/core/error.h"

namespace tabane::core {
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
  TABANE_ASSERT(a.size() == b.size() && !a.empty());
  std::vector<double> ratios(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) ratios[i] = a[i] / b[i];
  const PassSummary summary = summarize_passes(ratios, passes);
  return {summary.median, summary.interval, a.size()};
}

std::optional<TwoStates> two_states(std::span<const double> samples) {
  if (samples.size() < kFewestSamples) return std::nullopt;
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  const double sum = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  double total = 0;
  for (const double x : sorted) total += (x - sum / n) * (x - sum / n);
  double most = 0, apart_there = 0, low_sum = 0;
  std::size_t cut = 0;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    low_sum += sorted[i - 1];
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
  const std::span<const double> all(sorted);
  return TwoStates{median(all.first(cut)), median(all.subspan(cut)),
                   static_cast<double>(sorted.size() - cut) / n};
}

}  // namespace tabane::core
