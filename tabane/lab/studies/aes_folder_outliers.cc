// Slow runs of the study aes-folder: how many there are, and what coincides with them.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tabane/core/units.h"
#include "tabane/lab/studies/aes_folder.h"

namespace tabane::lab::aes_folder {
namespace {

constexpr std::uint64_t kKi = 1024, kMi = 1024 * 1024;

// Runs of 100 at least 1 s above their mean: 100 files, Xeon, 10 and 20 threads.
struct ReportOutliers {
  std::uint64_t bytes;
  const char* counts;
};
constexpr ReportOutliers kReportOutliers[] = {
    {512 * kKi, "6, 21"}, {kMi, "23, 25"}, {2 * kMi, "33, 34"}, {4 * kMi, "12, 23"}};

std::string report_outliers(const Cell& cell) {
  if (cell.files == 100) {
    for (const ReportOutliers& row : kReportOutliers) {
      if (row.bytes == cell.bytes) return row.counts;
    }
  }
  return "–";
}

std::string percent(double share) {
  return fmt::format("{:.{}f} %", 100 * share, share > 0 && share < 0.0095 ? 2 : 0);
}

}  // namespace

std::vector<std::size_t> slow_outliers(std::span<const double> seconds) {
  const double middle = core::median(seconds);
  std::vector<std::size_t> slow = core::outliers_far_fence(seconds);
  std::erase_if(slow, [&](std::size_t i) { return seconds[i] <= middle; });
  return slow;
}

double normal_mean(std::span<const double> seconds) {
  const auto slow = slow_outliers(seconds);
  std::vector<double> normal;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (std::find(slow.begin(), slow.end(), i) == slow.end()) normal.push_back(seconds[i]);
  }
  return core::mean(normal);
}

StudyTable outlier_table(const std::vector<Cell>& cells) {
  StudyTable table{"Outliers of the report's program", "", {}};
  table.rows = {{"files", "runs", "mean + 1 s", "far fence", "longest / median", "best threads",
                 "mean", "normal runs", "report, of 100 each"}};
  for (const Cell& cell : cells) {
    std::size_t runs = 0, by_report = 0, by_fence = 0;
    double longest = 0;
    for (const Series& one : cell.series) {
      if (one.implementation != Implementation::report_static || one.runs.empty()) continue;
      const auto seconds = one.seconds();
      runs += seconds.size();
      by_report += core::outliers_mean_plus(seconds).size();
      by_fence += slow_outliers(seconds).size();
      longest = std::max(longest,
                         *std::max_element(seconds.begin(), seconds.end()) / core::median(seconds));
    }
    const Series* fastest = best(cell, Implementation::report_static);
    if (fastest == nullptr) continue;
    const auto seconds = fastest->seconds();
    table.rows.push_back({label(cell), std::to_string(runs), std::to_string(by_report),
                          std::to_string(by_fence), fmt::format("{:.2f}", longest),
                          std::to_string(fastest->threads),
                          core::format_seconds(core::mean(seconds)),
                          core::format_seconds(normal_mean(seconds)), report_outliers(cell)});
  }
  table.remark =
      "Runs with all numbers of threads together; each is held against those with its own number. "
      "\"mean + 1 s\" is the report's rule; the far fence is 3 interquartile ranges above the "
      "upper "
      "quartile. The mean of the best number of threads, over all runs and over those below the "
      "far "
      "fence. The report: by its rule, Xeon, 10 and 20 threads.";
  return table;
}

StudyTable implementations_table(const std::vector<Cell>& cells) {
  StudyTable table{"Outliers of all implementations", "", {}};
  table.rows = {{"implementation", "runs", "mean + 1 s", "far fence", "share", "longest / median",
                 "99 % quantile / median"}};
  for (Implementation implementation : kImplementations) {
    std::size_t by_report = 0, by_fence = 0;
    std::vector<double> relative;
    for (const Cell& cell : cells) {
      for (const Series& one : cell.series) {
        if (one.implementation != implementation || one.runs.empty()) continue;
        const auto seconds = one.seconds();
        by_report += core::outliers_mean_plus(seconds).size();
        by_fence += slow_outliers(seconds).size();
        for (double t : seconds) relative.push_back(t / core::median(seconds));
      }
    }
    if (relative.empty()) continue;
    table.rows.push_back(
        {title(implementation), std::to_string(relative.size()), std::to_string(by_report),
         std::to_string(by_fence),
         percent(static_cast<double>(by_fence) / static_cast<double>(relative.size())),
         fmt::format("{:.2f}", core::quantile(relative, 1)),
         fmt::format("{:.2f}", core::quantile(relative, 0.99))});
  }
  table.remark = "All files, sizes and numbers of threads together.";
  return table;
}

namespace {

// What may be unusually high in a slow run; null: not known of this run.
struct Coincidence {
  const char* what;
  std::optional<double> (*of)(const Usage&);
};
constexpr std::size_t kMeasures = 7;
constexpr Coincidence kCoincidences[kMeasures] = {
    {"more CPU time of its own", [](const Usage& u) { return std::optional(u.cpu_seconds); }},
    {"more page faults", [](const Usage& u) { return std::optional(u.page_faults); }},
    {"more voluntary context switches",
     [](const Usage& u) { return std::optional(u.voluntary_switches); }},
    {"more involuntary context switches",
     [](const Usage& u) { return std::optional(u.involuntary_switches); }},
    {"longer waiting for a CPU (machine)", [](const Usage& u) { return u.cpu_wait_seconds; }},
    {"longer waiting for a device (machine)", [](const Usage& u) { return u.io_wait_seconds; }},
    {"more steal by the hypervisor", [](const Usage& u) { return u.steal_seconds; }}};
constexpr std::size_t kNeighbour = kMeasures, kNone = kMeasures + 1, kKinds = kMeasures + 2;

struct Coincidences {
  std::size_t runs = 0;
  std::array<std::size_t, kKinds> counts{};

  std::string text(std::size_t i) const {
    if (runs == 0) return "–";
    return fmt::format("{} ({})", counts[i],
                       percent(static_cast<double>(counts[i]) / static_cast<double>(runs)));
  }
};

// Whether the run before or after it in time, of whatever series, is slow too.
using SlowByOrder = std::map<std::uint64_t, bool>;

bool has_slow_neighbour(const SlowByOrder& slow, std::uint64_t order) {
  const auto at = slow.find(order);
  if (at == slow.end()) return false;
  if (at != slow.begin() && std::prev(at)->second) return true;
  return std::next(at) != slow.end() && std::next(at)->second;
}

SlowByOrder slow_by_order(const Cell& cell) {
  SlowByOrder slow;
  for (const Series& one : cell.series) {
    if (one.runs.empty()) continue;
    for (const Run& run : one.runs) slow[run.order] = false;
    for (std::size_t i : slow_outliers(one.seconds())) slow[one.runs[i].order] = true;
  }
  return slow;
}

// Which runs of a series have an unusually high value, by the rule for times.
std::vector<bool> unusually_high(const Series& series, const Coincidence& coincidence) {
  std::vector<double> values;
  std::vector<std::size_t> known;
  for (std::size_t i = 0; i < series.runs.size(); ++i) {
    if (const auto value = coincidence.of(series.runs[i].usage)) {
      values.push_back(*value);
      known.push_back(i);
    }
  }
  std::vector<bool> high(series.runs.size(), false);
  if (values.empty()) return high;
  for (std::size_t i : slow_outliers(values)) high[known[i]] = true;
  return high;
}

void add_coincidences(const Series& series, const SlowByOrder& slow, Coincidences& of_slow,
                      Coincidences& of_normal) {
  std::vector<std::vector<bool>> high;
  for (const Coincidence& one : kCoincidences) high.push_back(unusually_high(series, one));
  for (std::size_t i = 0; i < series.runs.size(); ++i) {
    std::array<bool, kKinds> seen{};
    for (std::size_t k = 0; k < kMeasures; ++k) seen[k] = high[k][i];
    seen[kNeighbour] = has_slow_neighbour(slow, series.runs[i].order);
    seen[kNone] = std::none_of(seen.begin(), seen.end(), [](bool b) { return b; });
    Coincidences& group = slow.at(series.runs[i].order) ? of_slow : of_normal;
    ++group.runs;
    for (std::size_t k = 0; k < kKinds; ++k) group.counts[k] += seen[k];
  }
}

}  // namespace

StudyTable coincidence_table(const std::vector<Cell>& cells) {
  Coincidences report_slow, report_normal, all_slow, all_normal;
  for (const Cell& cell : cells) {
    const SlowByOrder slow = slow_by_order(cell);
    for (const Series& one : cell.series) {
      if (one.runs.empty()) continue;
      add_coincidences(one, slow, all_slow, all_normal);
      if (one.implementation == Implementation::report_static)
        add_coincidences(one, slow, report_slow, report_normal);
    }
  }
  StudyTable table{"What coincides with outliers", "", {}};
  table.rows = {{"in the same run", "OpenMP static: outliers", "normal runs",
                 "all implementations: outliers", "normal runs"}};
  table.rows.push_back({"runs", std::to_string(report_slow.runs),
                        std::to_string(report_normal.runs), std::to_string(all_slow.runs),
                        std::to_string(all_normal.runs)});
  for (std::size_t k = 0; k < kKinds; ++k) {
    const char* what = k == kNeighbour ? "another slow run just before or after"
                       : k == kNone    ? "none of these"
                                       : kCoincidences[k].what;
    table.rows.push_back(
        {what, report_slow.text(k), report_normal.text(k), all_slow.text(k), all_normal.text(k)});
  }
  table.remark =
      "Outliers by the far fence. More, longer: beyond the far fence of the same series. What is "
      "as frequent in normal runs explains nothing.";
  return table;
}

}  // namespace tabane::lab::aes_folder
