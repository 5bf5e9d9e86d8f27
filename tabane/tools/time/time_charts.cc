#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "tabane/core/statistics.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/study/study.h"
#include "tabane/tools/time/time_record.h"

namespace tabane::lab {
namespace {

constexpr std::size_t kMostCurves = 8;
// From this ratio of the largest to the smallest on, times are drawn on a logarithmic axis.
constexpr double kWide = 4;

std::size_t drawn(const std::vector<TimeContender>& contenders) {
  return std::min(kMostCurves, contenders.size());
}

std::string which(const std::vector<TimeContender>& contenders) {
  return contenders.size() <= kMostCurves ? ""
                                          : fmt::format(" The first {} of {} commands are drawn.",
                                                        kMostCurves, contenders.size());
}

bool is_wide(const Timings& timings) {
  double low = HUGE_VAL, high = 0;
  for (const Point& point : timings.points) {
    low = std::min(low, *std::ranges::min_element(point.samples));
    high = std::max(high, *std::ranges::max_element(point.samples));
  }
  return high > kWide * low;
}

void add_ratio_bars(Record& record, const std::vector<TimeContender>& contenders,
                    const Timings& timings) {
  if (contenders.size() < 2) return;
  Bars bars{.unit = "ratio", .bars = {}, .reference = 1};
  for (std::size_t i = 1; i < contenders.size(); ++i)
    bars.bars.push_back({.group = "",
                         .label = contenders[i].name,
                         .value = timings.to_first[i].value,
                         .interval = with_ends(timings.to_first[i].interval)});
  add_chart(record, "ratios", fmt::format("Time relative to '{}'", contenders[0].name),
            "Medians of the ratios of two runs of one round, with intervals that all hold "
            "together. A bar that ends right of the line is slower. An interval that "
            "contains 1 shows no difference.",
            std::move(bars));
}

void add_runs(Record& record, const std::vector<TimeContender>& contenders,
              const Timings& timings) {
  Curves curves{{"run", "", false}, {"time", "s", is_wide(timings)}, {}};
  for (std::size_t i = 0; i < drawn(contenders); ++i) {
    const Point& point = timings.points[i];
    Curve curve{.name = contenders[i].name,
                .x = point.beside.find(seen::kOrder)->second,
                .y = point.samples,
                .joined = false,
                .flagged = std::vector<bool>(point.samples.size())};
    for (double& run : curve.x) ++run;  // they count from 1
    for (const std::size_t at : core::outliers_far_fence(point.samples)) curve.flagged[at] = true;
    curves.series.push_back(std::move(curve));
  }
  add_chart(record, "runs", "Every run, in the order in which they were taken",
            "What slows all commands at once was the machine. Large points are outliers, beyond "
            "Tukey's far fences; they are counted like all others." +
                which(contenders),
            std::move(curves));
}

// The share of runs that took at most so long: a step up at each run.
void add_distribution(Record& record, const std::vector<TimeContender>& contenders,
                      const Timings& timings) {
  if (timings.rounds() < 2) return;
  double longest = 0;
  for (const Point& point : timings.points)
    longest = std::max(longest, *std::ranges::max_element(point.samples));
  const Shown shown = shown_in(longest, "s");
  Curves curves{{"time in " + shown.unit, "", is_wide(timings)}, {"share of runs", "", false}, {}};
  for (std::size_t i = 0; i < drawn(contenders); ++i) {
    std::vector<double> sorted = timings.points[i].samples;
    std::ranges::sort(sorted);
    Curve curve{.name = contenders[i].name, .x = {}, .y = {}, .shape = -1};
    for (std::size_t k = 0; k < sorted.size(); ++k) {
      for (const std::size_t below : {k, k + 1}) {
        curve.x.push_back(sorted[k] * shown.factor);
        curve.y.push_back(static_cast<double>(below) / static_cast<double>(sorted.size()));
      }
    }
    curves.series.push_back(std::move(curve));
  }
  add_chart(
      record, "distribution", "How long the runs took",
      "The share of runs that took at most this time. Curves that are apart everywhere differ "
      "in all runs; curves that part only at the top differ in their slow runs." +
          which(contenders),
      std::move(curves));
}

// Numbers of rounds, a few per doubling, to the last.
std::vector<std::size_t> looks(std::size_t rounds) {
  std::vector<std::size_t> all;
  for (double at = 2; at < static_cast<double>(rounds); at = std::max(at + 1, at * 1.08))
    all.push_back(static_cast<std::size_t>(at));
  all.push_back(rounds);
  return all;
}

void add_progress(Record& record, const std::vector<TimeContender>& contenders,
                  const TimeEffort& effort, const Timings& timings) {
  if (contenders.size() < 2) return;
  const double each = confidence_of_each(effort.confidence, contenders.size() - 1);
  Curves curves{{"rounds", "", true}, {"ratio of times", "", false}, {}};
  curves.marks.push_back({.at = 1, .label = "equal", .vertical = false});
  for (std::size_t i = 1; i < drawn(contenders); ++i) {
    // In the colour that it has in the other charts.
    Curve curve{
        .name = contenders[i].name, .x = {}, .y = {}, .colour = static_cast<int>(i), .shape = -1};
    for (const std::size_t n : looks(timings.rounds())) {
      const auto so_far = [&](std::size_t k) {
        return std::span(timings.points[k].samples).first(n);
      };
      const core::Ratio ratio = core::running_ratio(so_far(i), so_far(0), each);
      if (const auto interval = with_ends(ratio.interval))
        add_place(curve, static_cast<double>(n), ratio.value, interval);
    }
    add_curve(curves, std::move(curve));
  }
  add_chart(record, "known",
            fmt::format("How the ratio to '{}' became known, round by round", contenders[0].name),
            "The ratio and its interval after each round. With the stated confidence all these "
            "intervals contain the truth, so stopping early does not make the claim weaker." +
                which(contenders),
            std::move(curves));
}

// The levels of all factors but this one, and but the command where there is only one.
std::string name_without(const std::string& factor, const Factors& factors, bool one_command) {
  std::vector<std::string> parts;
  for (const Factor& each : factors) {
    if (each.name != factor && !(one_command && each.name == kCommandFactor))
      parts.push_back(each.level.text());
  }
  return parts.empty() ? factors.find(kCommandFactor)->text()
                       : fmt::format("{}", fmt::join(parts, ", "));
}

// A curve for each combination of the other factors.
void add_scan(Record& record, const Timings& timings, const std::string& factor) {
  const bool one_command = timings.points.words(kCommandFactor).size() < 2;
  Curves curves{{factor, "", false}, {"time", "s", is_wide(timings)}, {}};
  for (const Point& point : timings.points) {
    const Level* const level = point.factors.find(factor);
    if (level == nullptr || !level->is_number()) continue;
    const std::string name = name_without(factor, point.factors, one_command);
    auto curve = std::ranges::find(curves.series, name, &Curve::name);
    if (curve == curves.series.end())
      curve = curves.series.insert(curve, Curve{.name = name, .x = {}, .y = {}});
    add_place(*curve, level->number(), point.median(), point.interval());
  }
  for (Curve& curve : curves.series) {
    const bool bounded =
        std::ranges::none_of(curve.low, [](double low) { return std::isnan(low); });
    if (!bounded) curve.low.clear(), curve.high.clear();
  }
  add_chart(record, "over." + factor, "Time over " + factor,
            "Medians, with 95 % intervals where there are enough runs.", std::move(curves));
}

void add_scans(Record& record, const Timings& timings) {
  std::vector<std::string> names;
  for (const Point& point : timings.points) {
    for (const Factor& factor : point.factors) {
      if (factor.level.is_number() && std::ranges::find(names, factor.name) == names.end())
        names.push_back(factor.name);
    }
  }
  for (const std::string& name : names) {
    if (timings.points.numbers(name).size() > 1) add_scan(record, timings, name);
  }
}

}  // namespace

void add_time_charts(Record& record, const std::vector<TimeContender>& contenders,
                     const TimeEffort& effort, const Timings& timings) {
  add_ratio_bars(record, contenders, timings);
  add_scans(record, timings);
  add_runs(record, contenders, timings);
  add_distribution(record, contenders, timings);
  add_progress(record, contenders, effort, timings);
}

}  // namespace tabane::lab
