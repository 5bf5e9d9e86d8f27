#include "tabane/tools/tune/noise.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tabane/core/statistics.h"

namespace tabane::lab::tune {
namespace {

constexpr double kUsualWeight = 3;            // in runs
constexpr double kUsuallyDisturbedRuns = 20;  // as if so many had shown what is usual
constexpr double kLeastDisturbance = 0.2;     // of a logarithm
constexpr double kOutlier = 4;                // deviations of a difference of two
constexpr int kPasses = 3;                    // from the usual deviation to that of these runs

constexpr double kBeyondChance = 1.645;     // normal deviations: once in 20
constexpr std::size_t kFewestForDrift = 8;  // for its distribution to be normal

double square(double x) { return x * x; }
double share_below(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }
double density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }

}  // namespace

const double kWorstDisturbance = std::log(4);

double Noise::limit(std::span<const double> runs) const {
  std::vector<double> sorted(runs.begin(), runs.end());
  std::sort(sorted.begin(), sorted.end());
  const double typical = sorted[sorted.size() == 2 ? 0 : sorted.size() / 2];
  return typical + std::max(kLeastDisturbance, kOutlier * std::numbers::sqrt2 * deviation_);
}

double Noise::middle(std::span<const double> runs) const {
  std::vector<double> kept;
  const double most = limit(runs);
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(kept),
               [&](double value) { return value <= most; });
  return core::median(kept);
}

void Noise::learn(const std::vector<std::vector<double>>& runs_of) {
  deviation_ = kUsual;
  for (int pass = 0; pass < kPasses; ++pass) {
    double squares = kUsualWeight * square(kUsual), weight = kUsualWeight;
    double disturbed = kUsuallyDisturbed * kUsuallyDisturbedRuns, repeated = kUsuallyDisturbedRuns;
    for (const std::vector<double>& runs : runs_of) {
      if (runs.size() < 2) continue;
      const double most = limit(runs), center = middle(runs);
      double kept = 0;
      for (const double value : runs) {
        if (value > most) continue;
        squares += square(value - center);
        ++kept;
      }
      weight += kept - 1;
      disturbed += double(runs.size()) - kept;
      repeated += double(runs.size()) - 1;
    }
    deviation_ = std::sqrt(squares / weight);
    disturbed_share_ = disturbed / repeated;
  }
}

bool drifts(std::span<const double> in_order) {
  const std::size_t count = in_order.size();
  if (count < kFewestForDrift) return false;
  std::vector<double> sorted(in_order.begin(), in_order.end());
  std::sort(sorted.begin(), sorted.end());
  double before = 0, steps = 0, squares = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), in_order[i]);
    // From the middle one; that of equal values is their mean.
    const double rank = double((first - sorted.begin()) + (last - sorted.end())) / 2;
    if (i > 0) steps += square(rank - before);
    squares += square(rank);
    before = rank;
  }
  const double n = double(count);
  const double variance =
      4 * (n - 2) * (5 * square(n) - 2 * n - 9) / (5 * n * (n + 1) * square(n - 1));
  return steps < (2 - kBeyondChance * std::sqrt(variance)) * squares;
}

double Noise::chance_disturbed(const Belief& expected, double value) const {
  const double deviation = std::sqrt(std::max(0.0, expected.variance) + square(deviation_));
  const double above = value - expected.mean;
  // A disturbance may be anything up to the worst.
  const double disturbed =
      disturbed_share_ / kWorstDisturbance *
      (share_below(above / deviation) - share_below((above - kWorstDisturbance) / deviation));
  const double clean = (1 - disturbed_share_) * density(above / deviation) / deviation;
  return disturbed / std::max(disturbed + clean, 1e-300);
}

}  // namespace tabane::lab::tune
