// Slow runs of the study aes-folder, and what coincides with them.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>

#include "tabane/core/statistics.h"
#include "tabane/lab/record/text.h"
#include "tabane/studies/aes_folder/aes_folder.h"

namespace tabane::lab::aes_folder {

namespace {

// Slow runs of several points, each held against those of its own point.
struct SlowRuns {
  std::size_t by_report = 0, by_fence = 0;
  std::vector<double> relative = {};  // to the median
  // Of slow runs by either rule: what they took longer than the median, and how much longer tasks
  // waited for a device meanwhile, at most as much; seconds.
  double lost = 0, waited = 0;

  explicit SlowRuns(const PointList& points) {
    for (const Point* point : points) add(*point);
  }
  void add(const Point& point) {
    std::vector<bool> slow = unusually_high(point.samples);
    const std::vector<std::size_t> abnormal = core::outliers_mean_plus(point.samples);
    by_fence += static_cast<std::size_t>(std::ranges::count(slow, true));
    by_report += abnormal.size();
    for (const std::size_t i : abnormal) slow[i] = true;
    const std::vector<double> waits = beside(point, "machine_io_wait_s");
    std::vector<double> usual;
    for (std::size_t i = 0; i < slow.size(); ++i)
      if (!slow[i]) usual.push_back(waits[i]);
    for (std::size_t i = 0; i < slow.size(); ++i) {
      relative.push_back(point.samples[i] / point.median());
      if (!slow[i]) continue;
      // The report's rule calls runs slow that are faster than the median where most are slow.
      const double longer = std::max(0.0, point.samples[i] - point.median());
      lost += longer;
      waited += std::clamp(waits[i] - core::median(usual), 0.0, longer);
    }
  }
  std::size_t runs() const { return relative.size(); }
  // Null where no run was slow, or the system does not say how long tasks waited.
  std::optional<double> share() const {
    if (lost == 0 || std::isnan(waited)) return std::nullopt;
    return waited / lost;
  }
};

Entry count(std::size_t n) { return count_entry(static_cast<double>(n)); }

// The mean of the samples that are not unusually high, by the far fence.
double normal_mean(const Point& point) {
  const std::vector<bool> slow = unusually_high(point.samples);
  std::vector<double> normal;
  for (std::size_t i = 0; i < slow.size(); ++i)
    if (!slow[i]) normal.push_back(point.samples[i]);
  return core::mean(normal);
}

// "6 (10 threads), 21 (20 threads)"
std::string published_outliers(const Factors& row) {
  std::vector<std::string> counts;
  for (const PublishedRuns& one : published_runs(*reports()[0])) {
    if (folder_name(row) == folder_name(one.folder.point("", "", 0)) && one.normal_runs < 100)
      counts.push_back(fmt::format("{:g} ({:g} threads)", 100 - one.normal_runs, one.threads));
  }
  return fmt::format("{}", fmt::join(counts, ", "));
}

void outliers_of_report(const StudyViews& views) {
  const auto row_of = [&](const Factors& row) -> std::vector<Entry> {
    const SlowRuns slow(views.points.where(row.with({{"implementation", kReport}})));
    const Point* best = best_of(kReport)(views.points, row);
    if (best == nullptr) return {};
    return {folder_label(views.points, row),
            count(slow.runs()),
            count(slow.by_report),
            count(slow.by_fence),
            {core::quantile(slow.relative, 1), "ratio"},
            {threads_of(*best), "1"},
            {core::mean(best->samples), "s"},
            {normal_mean(*best), "s"},
            published_outliers(row)};
  };
  views.table(
      "outliers",
      rows_of({"files", "runs", "mean + 1 s", "far fence", "longest / median", "best threads",
               "mean", "normal runs",
               fmt::format("{}, of 100", views.report.machine.at("name").get<std::string>())},
              folders(views.points, "implementation"), row_of));
}

void outliers_of_all(const StudyViews& views) {
  const auto row_of = [&](const Implementation& one) -> std::vector<Entry> {
    const SlowRuns slow(views.points.where({{"implementation", one.name}}));
    if (slow.runs() == 0) return {};
    return {one.title,
            count(slow.runs()),
            count(slow.by_report),
            count(slow.by_fence),
            {static_cast<double>(slow.by_fence) / static_cast<double>(slow.runs()), "share"},
            {core::quantile(slow.relative, 1), "ratio"},
            {core::quantile(slow.relative, 0.99), "ratio"}};
  };
  views.table("outliers.all", rows_of({"implementation", "runs", "mean + 1 s", "far fence", "share",
                                       "longest / median", "99 % quantile / median"},
                                      implementations(), row_of));
}

// What may coincide with a slow run; what was noted with the samples is unusually high there.
struct Coincidence {
  const char *what, *beside;
};
constexpr Coincidence kCoincidences[] = {
    {"more CPU time of its own", "cpu_s"},
    {"more page faults", "page_faults"},
    {"more voluntary context switches", "voluntary_switches"},
    {"more involuntary context switches", "involuntary_switches"},
    {"longer waiting for a CPU (machine)", "machine_cpu_wait_s"},
    {"longer waiting for a device (machine)", "machine_io_wait_s"},
    {"more steal by the hypervisor", "steal_s"},
    {"another slow run just before or after", nullptr},
    {"none of these", nullptr}};
constexpr std::size_t kNone = std::size(kCoincidences) - 1, kNeighbour = kNone - 1;

struct RunSigns {
  bool by_report = false, slow = false;
  std::array<bool, kNone + 1> kinds{};
};

// What is seen in each run of a row's folder, in the order of time.
std::vector<RunSigns> seen_in(const Points& points, const Factors& row) {
  std::map<double, RunSigns> by_order;
  for (const Implementation& one : implementations()) {
    for (const Point* point : points.where(row.with({{"implementation", one.name}}))) {
      const std::vector<double> order = beside(*point, "order");
      const std::vector<bool> slow = unusually_high(point->samples);
      for (std::size_t i = 0; i < order.size(); ++i)
        by_order[order[i]] = {one.name == std::string_view(kReport), slow[i], {}};
      for (std::size_t k = 0; k < kNeighbour; ++k) {
        const std::vector<bool> high = unusually_high(beside(*point, kCoincidences[k].beside));
        for (std::size_t i = 0; i < order.size(); ++i) by_order[order[i]].kinds[k] = high[i];
      }
    }
  }
  std::vector<RunSigns> all;
  for (const auto& [order, seen] : by_order) all.push_back(seen);
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto& kinds = all[i].kinds;
    kinds[kNeighbour] = (i > 0 && all[i - 1].slow) || (i + 1 < all.size() && all[i + 1].slow);
    kinds[kNone] = std::none_of(kinds.begin(), kinds.end(), [](bool b) { return b; });
  }
  return all;
}

void coincidences(const StudyViews& views) {
  // Of each column of the table: outliers and normal runs of the report's program, and of all.
  constexpr std::size_t kColumns = 4;
  std::array<double, kColumns> runs{};
  std::array<std::array<double, kColumns>, kNone + 1> seen{};
  for (const Factors& row : folders(views.points, "implementation")) {
    for (const RunSigns& run : seen_in(views.points, row)) {
      for (const std::size_t first : {0, 2}) {
        if (first == 0 && !run.by_report) continue;
        const std::size_t column = first + (run.slow ? 0 : 1);
        ++runs[column];
        for (std::size_t k = 0; k <= kNone; ++k) seen[k][column] += run.kinds[k];
      }
    }
  }
  if (runs.back() == 0) return;
  Rows rows{{"in the same run", "OpenMP static: outliers", "normal runs",
             "all implementations: outliers", "normal runs"},
            {{"runs"}}};
  for (const double number : runs) rows.rows[0].push_back(count_entry(number));
  for (std::size_t k = 0; k <= kNone; ++k) {
    rows.rows.push_back({kCoincidences[k].what});
    for (std::size_t column = 0; column < kColumns; ++column)
      rows.rows.back().push_back(runs[column] == 0
                                     ? Entry()
                                     : fmt::format("{} ({})", seen[k][column],
                                                   show_percent(seen[k][column] / runs[column])));
  }
  views.table("coincidences", std::move(rows));
}

// What outliers lost, and without any the bytes.
std::pair<double, double> lost_of(const Point* point) {
  const std::vector<bool> slow = unusually_high(point->samples);
  double lost = 0;
  for (std::size_t i = 0; i < slow.size(); ++i)
    if (slow[i]) lost += point->samples[i] - point->median();
  return {lost, point->number("files") * point->number("bytes")};
}

// All runs of a point in the order of time.
Curve order_curve(std::string name, const Point& point) {
  return {.name = std::move(name),
          .x = beside(point, "order"),
          .y = point.samples,
          .flagged = unusually_high(point.samples)};
}

}  // namespace

// ---- two directories ----

void add_places(const StudyViews& views, const std::string& directory) {
  const auto row_of = [&](const Factors& row) -> std::vector<Entry> {
    const Point* point = views.points.find(row);
    if (point == nullptr) return {};
    const SlowRuns slow({point});
    const bool is_also = row.word("place") == kAlso;
    const Point* here = views.points.find(row.with({{"place", kHere}}));
    const auto [low, high] = std::ranges::minmax(point->samples);
    return {
        fmt::format("{}, {} threads", folder_label(views.points, row).text, row.text("threads")),
        row.word("program") == kCopy ? "copying" : "OpenMP static",
        is_also ? directory : "the study's own",
        count(point->samples.size()),
        median_entry(point),
        {core::mean(point->samples), "s"},
        {low, "s"},
        {high, "s"},
        count(slow.by_report),
        count(slow.by_fence),
        slow.lost == 0 ? Entry() : Entry(slow.lost, "s"),
        {slow.share(), "share"},
        {median_beside(*point, "dirty_before_bytes"), "B"},
        is_also ? ratio_entry(point, here) : Entry()};
  };
  views.table("places",
              rows_of({"files", "program", "directory", "runs", "median", "mean", "minimum",
                       "maximum", "mean + 1 s", "far fence", "lost in these",
                       "of it, waiting for a device", "dirty before", "other / own"},
                      combinations(views.points, {"bytes", "files", "threads", "program", "place"}),
                      row_of));
  const PointList there = views.points.where({{"place", kAlso}, {"program", kReport}});
  if (there.empty()) return;
  const SlowRuns also(there), here(views.points.where({{"place", kHere}, {"program", kReport}}));
  const Point* most = *std::ranges::max_element(there, {}, lost_of);
  std::vector<Curve> curves;
  for (const char* place : {kAlso, kHere}) {
    const Point* point = views.points.find(most->factors.with({{"place", place}}));
    curves.push_back(
        order_curve(place == std::string_view(kAlso) ? directory : "the study's own", *point));
  }
  views.order_chart("places.order", {"time", "s", true}, std::move(curves),
                    {{"what", folder_label(views.points, most->factors).text},
                     {"threads", most->text("threads")}});
  const auto share = also.share();
  views.record.sentences.push_back(
      views
          .caption("places.found", {{"directory", directory},
                                    {"runs", std::to_string(also.runs())},
                                    {"abnormal", std::to_string(also.by_report)},
                                    {"slow", std::to_string(also.by_fence)},
                                    {"share", share ? show_percent(*share) : ""},
                                    {"runs_here", std::to_string(here.runs())},
                                    {"abnormal_here", std::to_string(here.by_report)},
                                    {"slow_here", std::to_string(here.by_fence)}})
          .note);
}

void add_outlier_tables(const StudyViews& views) {
  outliers_of_report(views);
  outliers_of_all(views);
  coincidences(views);
}

void add_order_of_runs(const StudyViews& views) {
  const PointList report = views.points.where({{"implementation", kReport}});
  if (report.empty()) return;
  const Point* most = *std::ranges::max_element(report, {}, lost_of);
  std::vector<Curve> curves;
  for (const Implementation& one : implementations()) {
    const Point* point = views.points.find(most->factors.with({{"implementation", one.name}}));
    if (point != nullptr && !one.decrypts) curves.push_back(order_curve(one.title, *point));
  }
  views.order_chart("order", {"time", "s", true}, std::move(curves),
                    {{"files", most->text("files")},
                     {"size", show(most->number("bytes"), "B")},
                     {"threads", most->text("threads")}});
}

}  // namespace tabane::lab::aes_folder
