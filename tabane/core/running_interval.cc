#include "tabane/core/running_interval.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tabane/core/error.h"

namespace tabane::core {
namespace {

// Logarithm of the likelihood ratio when k of n samples are below: 2^n / ((n + 1) C(n, k)).
double log_evidence(double n, double k) {
  const double log_choices = std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
  return n * std::log(2.0) - std::log(n + 1) - log_choices;
}

}  // namespace

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
    if (decided(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

Interval running_median_interval(std::span<const double> samples, double confidence) {
  TABANE_ASSERT(!samples.empty());
  const std::size_t rank = running_rank(samples.size(), confidence);
  constexpr double kNoEnd = std::numeric_limits<double>::infinity();
  if (rank == 0) return {-kNoEnd, kNoEnd};
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return {sorted[rank - 1], sorted[sorted.size() - rank]};
}

Ratio running_ratio(std::span<const double> a, std::span<const double> b, double confidence) {
  TABANE_ASSERT(a.size() == b.size() && !a.empty());
  std::vector<double> ratios(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    TABANE_ASSERT(b[i] > 0);
    ratios[i] = a[i] / b[i];
  }
  Interval interval = running_median_interval(ratios, confidence);
  interval.low = std::max(0.0, interval.low);
  return {.value = median(ratios), .interval = interval, .pairs = ratios.size()};
}

}  // namespace tabane::core
