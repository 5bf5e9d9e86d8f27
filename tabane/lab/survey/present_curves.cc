// The curves of a survey: over the size of data, over cores, over the memory that a process holds.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tabane/core/fit.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/survey/present.h"

namespace tabane::lab {
namespace {

struct Cache {
  int level = 0;
  double bytes = 0;
};

// The machine's caches with a known size, from level 1 up.
std::vector<Cache> caches_of(const Record& record) {
  std::vector<Cache> out;
  const auto caches = record.machine.find("caches");
  if (caches == record.machine.end() || !caches->is_array()) return out;
  for (const auto& cache : *caches) {
    if (!cache.is_object() || !cache.contains("level") || !cache.contains("bytes")) continue;
    const auto &level = cache["level"], &bytes = cache["bytes"];
    if (level.is_number_integer() && bytes.is_number() && bytes.get<double>() > 0)
      out.push_back({level.get<int>(), bytes.get<double>()});
  }
  return out;
}

struct Point {
  double x = 0, y = 0;
};

// The points of a curve that are there, from the smallest x up.
std::vector<Point> points_of(const Curve& curve) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < curve.x.size(); ++i)
    if (std::isfinite(curve.y[i]) && curve.y[i] > 0) points.push_back({curve.x[i], curve.y[i]});
  std::stable_sort(points.begin(), points.end(),
                   [](const Point& a, const Point& b) { return a.x < b.x; });
  return points;
}

// The record's view of that name with these axes; null without a curve of two points.
std::optional<View> curves_view(const Record& record, const char* name, const char* title, Axis x,
                                Axis y) {
  const auto* measured = find_content<Curves>(record, name);
  if (measured == nullptr) return std::nullopt;
  View view = *record.find_view(name);
  auto& curves = std::get<Curves>(view.content);
  y.unit = curves.y.unit;
  curves.x = std::move(x);
  curves.y = std::move(y);
  curves.marks.clear();
  std::erase_if(curves.series, [](const Curve& curve) { return points_of(curve).empty(); });
  const bool drawable = std::any_of(curves.series.begin(), curves.series.end(),
                                    [](const Curve& curve) { return points_of(curve).size() > 1; });
  if (!drawable) return std::nullopt;
  view.title = title;
  return view;
}

const Axis kWorkingSet{"working set", "B", true};

// Marks the caches; returns the sentence that says so.
std::string mark_caches(const Record& record, Curves& curves) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const Curve& curve : curves.series) {
    const auto points = points_of(curve);
    low = std::min(low, points.front().x);
    high = std::max(high, points.back().x);
  }
  std::vector<std::string> parts;
  for (const Cache& cache : caches_of(record)) {
    if (cache.bytes > low && cache.bytes < high)
      curves.marks.push_back({cache.bytes, fmt::format("L{}", cache.level)});
    parts.push_back(fmt::format("L{} {}", cache.level, show(cache.bytes, "B")));
  }
  return parts.empty() ? "" : fmt::format(" The dashed lines are the caches: {}.", join(parts));
}

const Curve* find_curve(const Curves& curves, std::string_view name) {
  for (const Curve& curve : curves.series)
    if (curve.name == name) return &curve;
  return nullptr;
}

const Curve& curve_or_first(const Curves& curves, std::string_view wanted) {
  const Curve* curve = find_curve(curves, wanted);
  return curve != nullptr ? *curve : curves.series.front();
}

// What the curve says of each level: the largest size that takes at most half a cache and does not
// fit into the one before, as the single results do, and the largest size of all.
std::string levels_sentence(const Record& record, const Curve& curve, std::string_view unit) {
  std::vector<std::string> parts;
  double before = 0;
  const std::vector<Point> points = points_of(curve);
  for (const Cache& cache : caches_of(record)) {
    const Point* best = nullptr;
    for (const Point& point : points)
      if (point.x > before && point.x <= 0.5 * cache.bytes) best = &point;
    if (best != nullptr)
      parts.push_back(fmt::format("{} in L{}", show(best->y, unit), cache.level));
    before = cache.bytes;
  }
  const Point& last = points.back();
  if (last.x > 2 * before)
    parts.push_back(fmt::format("{} {} {}", show(last.y, unit),
                                before > 0 ? "beyond the caches, at" : "at", show(last.x, "B")));
  if (parts.empty())
    parts.push_back(fmt::format("{} at {}", show(last.y, unit), show(last.x, "B")));
  return join(parts);
}

// The first point that reaches 95 % of the curve's highest.
Point saturation(const std::vector<Point>& points) {
  double highest = 0;
  for (const Point& point : points) highest = std::max(highest, point.y);
  return *std::find_if(points.begin(), points.end(),
                       [&](const Point& point) { return point.y >= 0.95 * highest; });
}

std::string cores(double n) { return fmt::format("{:.0f} {}", n, n == 1 ? "core" : "cores"); }

}  // namespace

std::optional<View> present_memory_latency(const Record& record) {
  auto view = curves_view(record, "memory.latency", "Latency over size", kWorkingSet,
                          {"time of one dependent load", "", true});
  if (!view) return view;
  auto& curves = std::get<Curves>(view->content);
  const std::string& unit = curves.y.unit;
  std::vector<std::string> parts;
  for (const Curve& curve : curves.series)
    parts.push_back(
        fmt::format("with {} it takes {}", curve.name, levels_sentence(record, curve, unit)));
  view->note = "Each load waits for the one before and goes to a random place: " +
               fmt::format("{}", fmt::join(parts, "; ")) + ".";
  const Curve &small = curves.series.front(), *huge = find_curve(curves, "huge pages");
  if (huge != nullptr && huge != &small) {
    const Point a = points_of(small).back(), b = points_of(*huge).back();
    if (a.x == b.x) view->note += " The difference is translating addresses.";
    const Result* result = record.find("memory.latency.l1");
    if (result != nullptr && result->details.value(detail::kPageSize, "") == huge->name)
      view->note += " The single figures below memory.latency are those with huge pages.";
  }
  view->note += mark_caches(record, curves);
  return view;
}

std::optional<View> present_memory_bandwidth(const Record& record) {
  auto view = curves_view(record, "memory.bandwidth", "Bandwidth over size", kWorkingSet,
                          {"bandwidth of one core", "", true});
  if (!view) return view;
  auto& curves = std::get<Curves>(view->content);
  const Curve& read = curve_or_first(curves, "read");
  view->note = fmt::format("One core moves ({}) {}.", read.name,
                           levels_sentence(record, read, curves.y.unit));
  if (const Curve* copy = find_curve(curves, "copy"); copy != nullptr && copy != &read) {
    const Point last = points_of(*copy).back();
    view->note += fmt::format(
        " Copying gives {} at {}; bytes that are read and bytes that are "
        "written both count.",
        show(last.y, curves.y.unit), show(last.x, "B"));
  }
  view->note += mark_caches(record, curves);
  return view;
}

std::optional<View> present_memcpy(const Record& record) {
  auto view = curves_view(record, "memcpy", "memcpy over block size", {"block", "B", true},
                          {"bandwidth", "", true});
  if (!view) return view;
  auto& curves = std::get<Curves>(view->content);
  const Curve& curve = curve_or_first(curves, "memcpy");
  const std::vector<Point> points = points_of(curve);
  const Point best = *std::max_element(points.begin(), points.end(),
                                       [](const Point& a, const Point& b) { return a.y < b.y; });
  const Point last = points.back();
  view->note = fmt::format(
      "{} peaks at {} with blocks of {}; {} gives {}. Copied bytes count once here, and twice in "
      "memory.bandwidth.copy: as read and as written.",
      curve.name, show(best.y, curves.y.unit), show(best.x, "B"), show(last.x, "B"),
      show(last.y, curves.y.unit));
  mark_caches(record, curves);
  return view;
}

std::optional<View> present_bandwidth_over_cores(const Record& record) {
  auto view = curves_view(record, "memory.bandwidth.cores", "Memory bandwidth over cores",
                          {"cores at work"}, {"bandwidth"});
  if (!view) return view;
  auto& curves = std::get<Curves>(view->content);
  const std::string& unit = curves.y.unit;
  const Curve& lead = curve_or_first(curves, "read");
  const Point first = points_of(lead).front(), full = saturation(points_of(lead));
  if (full.x > first.x && full.x < points_of(lead).back().x)
    curves.marks = {{full.x, fmt::format("{} full", lead.name)}};
  std::vector<std::string> parts;
  for (const Curve& curve : curves.series) {
    const std::vector<Point> points = points_of(curve);
    const Point at = saturation(points);
    const char* how =
        at.x < points.back().x ? "reaches 95 % of its highest with" : "still rises at";
    parts.push_back(fmt::format("{} {} {} ({})", curve.name, how, cores(at.x), show(at.y, unit)));
  }
  view->note = fmt::format("{} {} {} ({}); {}.", cores(first.x), first.x == 1 ? "gives" : "give",
                           show(first.y, unit), lead.name, join(parts));
  return view;
}

// What the other cores do, as a verb: "reads it", "read it".
std::string verb(const Curve& curve, bool one) {
  const bool copy = curve.name == "others copy";
  return copy ? (one ? "copies in it" : "copy in it") : (one ? "reads it" : "read it");
}

std::optional<View> present_loaded_latency(const Record& record) {
  auto view = curves_view(record, "memory.latency.loaded", "Latency of memory under load",
                          {"other cores at work"}, {"latency of a load"});
  if (!view) return view;
  const auto& curves = std::get<Curves>(view->content);
  std::vector<std::string> parts;
  for (const Curve& curve : curves.series) {
    const std::vector<Point> points = points_of(curve);
    const Point alone = points.front(), loaded = points.back();
    if (alone.x != 0 || loaded.x == 0) continue;
    parts.push_back(
        fmt::format("{} while {} {}", show(loaded.y, curves.y.unit),
                    loaded.x == 1 ? "1 other core" : fmt::format("{:.0f} other cores", loaded.x),
                    verb(curve, loaded.x == 1)));
  }
  if (parts.empty()) return std::nullopt;
  view->note = fmt::format(
      "A load from memory takes {} alone, {}. Where the curve bends upwards, "
      "more cores only wait for each other.",
      show(points_of(curves.series.front()).front().y, curves.y.unit), join(parts));
  return view;
}

std::optional<View> present_core_rate(const Record& record) {
  auto view = curves_view(record, "clock.core_rate", "Core rate over active cores",
                          {"active cores"}, {"core rate"});
  if (!view) return view;
  const auto& curves = std::get<Curves>(view->content);
  const Curve& curve = curves.series.front();
  const Point first = points_of(curve).front(), last = points_of(curve).back();
  view->note = fmt::format(
      "The core runs at {} with {} and at {} with {}, {} of the rate of the first ({}).",
      show(first.y, curves.y.unit), cores(first.x), show(last.y, curves.y.unit), cores(last.x),
      show_percent(last.y / first.y), curve.name);
  return view;
}

std::optional<View> present_fork_cost(const Record& record) {
  auto view =
      curves_view(record, "fork.cost", "Cost of a fork over resident memory",
                  {"resident memory of the parent", "B", true}, {"time of a fork", "", true});
  if (!view) return view;
  const auto& curves = std::get<Curves>(view->content);
  const std::string& unit = curves.y.unit;
  std::vector<std::string> parts;
  for (const Curve& curve : curves.series) {
    const std::vector<Point> points = points_of(curve);
    if (points.size() < 2) continue;
    std::string part =
        fmt::format("{}ith {} a fork takes {} at {} and {} at {}", parts.empty() ? "W" : "w",
                    curve.name, show(points.front().y, unit), show(points.front().x, "B"),
                    show(points.back().y, unit), show(points.back().x, "B"));
    // The same line as that of the result fork.cost.per_gib.
    const core::LineFit fit = core::fit_line(curve.x, curve.y, core::FitWeight::relative);
    if (fit.slope > 0)
      part +=
          fmt::format(" ({} per GiB, fitted to all points)", show(fit.slope * 1073741824, unit));
    parts.push_back(std::move(part));
  }
  view->note = fmt::format("{}. A fork copies page tables.", fmt::join(parts, "; "));
  return view;
}

}  // namespace tabane::lab
