#include "tabane/lab/compare/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tabane/core/rank_sum.h"
#include "tabane/lab/record/points.h"

namespace tabane::lab {
namespace {

constexpr double kNormal95 = 1.959964;      // two-sided 95 % of the standard normal distribution
constexpr double kDeviationOfMad = 1.4826;  // standard deviation over MAD, normally distributed
constexpr std::size_t kFewestForScatter = 10;
constexpr double kFalseDiscoveries = 0.01;

// Two-sided, of a ratio that is 1 in truth. The half of the interval on the side of 1 tells the
// standard deviation of the logarithm.
double chance_by_interval(const FigureRatio& figure) {
  const double log_ratio = std::log(figure.ratio);
  const double end = log_ratio > 0 ? figure.interval->low : figure.interval->high;
  const double half = std::abs(log_ratio - std::log(end));
  if (log_ratio == 0) return 1;
  if (half == 0) return 0;
  return std::erfc(kNormal95 * std::abs(log_ratio) / half / std::numbers::sqrt2);
}

double chance_of(const FigureRatio& figure) {
  return std::max(chance_by_interval(figure), figure.chance_of_samples);
}

core::Interval widened(double ratio, core::Interval interval, double scatter) {
  const double more = kNormal95 * scatter;
  return {ratio * std::exp(-std::hypot(std::log(ratio / interval.low), more)),
          ratio * std::exp(std::hypot(std::log(interval.high / ratio), more))};
}

// The largest chance that still counts: the k-th smallest of m with chance <= 1 % k / m.
double greatest_chance_that_counts(const std::vector<FigureRatio>& ratios,
                                   double (*chance)(const FigureRatio&)) {
  std::vector<double> chances;
  for (const FigureRatio& figure : ratios)
    if (figure.interval) chances.push_back(chance(figure));
  std::sort(chances.begin(), chances.end());
  const auto m = static_cast<double>(chances.size());
  double greatest = -1;
  for (std::size_t k = 0; k < chances.size(); ++k)
    if (chances[k] <= kFalseDiscoveries * static_cast<double>(k + 1) / m) greatest = chances[k];
  return greatest;
}

Finding direction(const FigureRatio& figure) {
  if (figure.better == Better::neither) return Finding::other;
  return (figure.ratio > 1) == (figure.better == Better::higher) ? Finding::better : Finding::worse;
}

bool bounded(const Result& result) {
  return result.interval && result.samples.size() >= core::kFewestForInterval &&
         result.interval->low > 0 && std::isfinite(result.interval->high);
}

}  // namespace

std::string held_apart(const Json& a, const Json& b) {
  const auto in_a = a.find(detail::kHeldFixed), in_b = b.find(detail::kHeldFixed);
  if (in_a == a.end() || in_b == b.end() || *in_a == *in_b) return "";
  return fmt::format("measured with {}, in the baseline with {}", in_b->dump(), in_a->dump());
}

namespace {

std::string why_not_compared(const Result& a, const Result& b) {
  if (a.version != b.version)
    return fmt::format("measured in different ways: version {} of the probe, {} in the baseline",
                       b.version, a.version);
  if (const std::string fixed = held_apart(a.details, b.details); !fixed.empty()) return fixed;
  if (a.unit != b.unit) return fmt::format("in {}, in the baseline in {}", b.unit, a.unit);
  if (!(a.value.value_or(0) > 0) || !(b.value.value_or(0) > 0))
    return "no ratio, because a value is missing or not above 0";
  return "";
}

}  // namespace

core::Interval independent_ratio_interval(double a, core::Interval of_a, double b,
                                          core::Interval of_b) {
  const double ratio = a / b;
  const double down = std::hypot(std::log(a / of_a.low), std::log(of_b.high / b));
  const double up = std::hypot(std::log(of_a.high / a), std::log(b / of_b.low));
  return {ratio * std::exp(-down), ratio * std::exp(up)};
}

std::vector<FigureRatio> ratios_of(const Record& baseline, const Record& other,
                                   std::vector<Skipped>& left_out) {
  std::vector<FigureRatio> ratios;
  for (const Result& a : baseline.results) {
    const Result* b = other.find(a.name);
    if (b == nullptr) continue;
    if (std::string reason = why_not_compared(a, *b); !reason.empty()) {
      left_out.push_back({a.name, std::move(reason)});
      continue;
    }
    FigureRatio figure{a.name, a.unit, a.better, *a.value, *b->value, *b->value / *a.value};
    if (bounded(a) && bounded(*b)) {
      figure.interval = independent_ratio_interval(*b->value, *b->interval, *a.value, *a.interval);
      figure.chance_of_samples = core::rank_sum_chance(a.samples, b->samples);
    }
    ratios.push_back(std::move(figure));
  }
  return ratios;
}

std::optional<double> scatter_of(const std::vector<FigureRatio>& ratios) {
  std::vector<double> logs;
  for (const FigureRatio& figure : ratios) {
    if (!figure.interval) continue;
    const double log_ratio = std::log(figure.ratio);
    logs.push_back(figure.better == Better::higher ? -log_ratio : log_ratio);
  }
  if (logs.size() < kFewestForScatter) return std::nullopt;
  const double middle = core::median(logs);
  for (double& x : logs) x = std::abs(x - middle);
  return kDeviationOfMad * core::median(logs);
}

void judge(std::vector<FigureRatio>& ratios, double scatter, double threshold) {
  for (FigureRatio& figure : ratios)
    if (figure.interval) figure.interval = widened(figure.ratio, *figure.interval, scatter);
  const double counts = greatest_chance_that_counts(ratios, chance_of);
  const double counts_by_interval = greatest_chance_that_counts(ratios, chance_by_interval);
  const double floor = std::log1p(threshold);
  for (FigureRatio& figure : ratios) {
    if (!figure.interval) continue;
    const bool large = std::abs(std::log(figure.ratio)) > floor;
    const bool differs = large && chance_of(figure) <= counts;
    const bool may_differ = large && chance_by_interval(figure) <= counts_by_interval;
    figure.finding = differs ? direction(figure) : may_differ ? Finding::few : Finding::none;
    const double least = figure.ratio > 1 ? figure.interval->low : 1 / figure.interval->high;
    figure.regression = figure.finding == Finding::worse && std::log(least) > floor;
  }
}

}  // namespace tabane::lab
