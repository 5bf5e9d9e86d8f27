// The record of the study ap1000: every sample, and the tables that figures are drawn from.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tabane/lab/studies/ap1000_data.h"

namespace tabane::lab::ap1000 {
namespace {

constexpr const char* kFit = ", line";  // the figures know fitted curves by it

Result result_of(const Point& point, const Findings& findings) {
  Result result;
  std::string way = point.way;
  std::replace(way.begin(), way.end(), ' ', '_');
  result.name = fmt::format("ap1000.{}.{}{}.r{}", point.part, way,
                            point.group.empty() ? "" : "." + point.group, point.ranks);
  if (point.bytes > 0) result.name += fmt::format(".b{}", point.bytes);
  result.what = point.part == "pingpong" ? "half a round trip, " + title_of_way(point.way)
                                         : point.part + ", " + title_of_way(point.way);
  result.unit = "s";
  result.better = Better::lower;
  result.parameters = {{"transport", findings.transport},
                       {"ranks", point.ranks},
                       {"bytes", point.bytes},
                       {"group", point.group.empty() ? Json(nullptr) : Json(point.group)}};
  set_samples(result, point.seconds);
  return result;
}

Curve curve_of(const std::string& name, const std::vector<const Point*>& points,
               double (*x_of)(const Point&)) {
  Curve curve{.name = name};
  for (const Point* point : points) {
    const core::Interval interval = core::median_interval(point->seconds);
    curve.x.push_back(x_of(*point));
    curve.y.push_back(point->median());
    curve.low.push_back(interval.low);
    curve.high.push_back(interval.high);
  }
  return curve;
}

double bytes_of(const Point& point) { return static_cast<double>(point.bytes); }
double ranks_of(const Point& point) { return point.ranks; }
double elements_of(const Point& point) { return bytes_of(point) / sizeof(double); }

// The pieces of a fit, with a gap between them where x goes back: each a curve of its own.
void add_lines(CurvesTable& table, const std::string& name,
               const std::vector<const Point*>& points) {
  constexpr int kSteps = 24;
  for (const FitSegment& segment : fit(points, 4)) {
    Curve curve{.name = name + kFit};
    for (int i = 0; i <= kSteps; ++i) {
      const double x =
          segment.from * std::pow(segment.to / segment.from, static_cast<double>(i) / kSteps);
      if (!(segment.line(x) > 0)) continue;
      curve.x.push_back(x);
      curve.y.push_back(segment.line(x));
    }
    if (!curve.x.empty()) table.series.push_back(std::move(curve));
  }
}

CurvesTable to_bandwidth(CurvesTable table) {
  table.y = {"bandwidth", "B/s", true};
  for (Curve& curve : table.series) {
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      curve.y[i] = curve.x[i] / curve.y[i];
      if (curve.low.empty()) continue;
      const double high = curve.x[i] / curve.low[i];
      curve.low[i] = curve.x[i] / curve.high[i];
      curve.high[i] = high;
    }
  }
  return table;
}

class Tables {
 public:
  Tables(SurveyRecord& record, const Findings& findings) : record_(record), findings_(findings) {}

  void add_ping_pong() {
    CurvesTable table{{"message", "B", true}, {"half a round trip", "s", true}, {}};
    for (const std::string& way : findings_.ways("pingpong")) {
      const auto points = findings_.over_bytes("pingpong", way, 2);
      table.series.push_back(curve_of(title_of_way(way), points, bytes_of));
      add_lines(table, title_of_way(way), points);
    }
    add("ap1000.pingpong.time", "half a round trip over the size of the message", table);
    add("ap1000.pingpong.bandwidth", "bandwidth of a ping-pong over the size of the message",
        to_bandwidth(std::move(table)));
  }

  // Curves over ranks of some sizes or groups of a part.
  struct Line {
    std::string part, way;
    std::uint64_t bytes = 0;
    std::string group = {};
    std::string name;
  };
  void add_over_ranks(const std::string& name, const std::string& what,
                      const std::vector<Line>& lines) {
    CurvesTable table{{"ranks", "", true}, {"time", "s", true}, {}};
    for (const Line& line : lines) {
      std::vector<const Point*> points;
      for (const int ranks : findings_.ranks(line.part)) {
        const Point* point = findings_.find(line.part, line.way, ranks, line.bytes, line.group);
        if (point != nullptr) points.push_back(point);
      }
      if (!points.empty()) table.series.push_back(curve_of(line.name, points, ranks_of));
    }
    add(name, what, std::move(table));
  }

  void add_barrier() {
    std::vector<Line> lines;
    for (const std::string& way : findings_.ways("barrier"))
      lines.push_back({.part = "barrier", .way = way, .name = title_of_way(way)});
    add_over_ranks("ap1000.barrier", "a barrier over the number of ranks", lines);
  }

  void add_broadcast() {
    std::vector<Line> lines;
    for (const std::string& way : findings_.ways("broadcast")) {
      lines.push_back({"broadcast", way, 8, "", title_of_way(way) + ", 8 B"});
      lines.push_back({"broadcast", way, 4096, "", title_of_way(way) + ", 4 KiB"});
    }
    add_over_ranks("ap1000.broadcast", "a broadcast along a row over its ranks", lines);
  }

  void add_global() {
    add_over_ranks("ap1000.global", "one value of all ranks over the number of ranks",
                   {{"sum", "chosen", 0, "all", "sum, chosen"},
                    {"max_loc", "chosen", 0, "all", "max with index, chosen"},
                    {"sum", "tree", 0, "all", "sum, tree"},
                    {"max_loc", "tree", 0, "all", "max with index, tree"}});
  }

  // Of the most ranks.
  void add_over_sizes(const std::string& part, const std::string& what, Axis x,
                      double (*x_of)(const Point&)) {
    const std::vector<int> ranks = findings_.ranks(part);
    if (ranks.empty()) return;
    CurvesTable table{std::move(x), {"time", "s", true}, {}};
    for (const std::string& way : findings_.ways(part)) {
      table.series.push_back(
          curve_of(title_of_way(way), findings_.over_bytes(part, way, ranks.back()), x_of));
    }
    add("ap1000." + part, fmt::format("{}, {} ranks", what, ranks.back()), std::move(table),
        ranks.back());
  }

 private:
  void add(const std::string& name, const std::string& what, CurvesTable curves, int ranks = 0) {
    if (curves.series.empty()) return;
    Json parameters = {{"transport", findings_.transport}, {"pus", findings_.pus}};
    if (ranks > 0) parameters["ranks"] = ranks;
    record_.tables.push_back({.name = name,
                              .what = what,
                              .parameters = std::move(parameters),
                              .content = std::move(curves)});
  }

  SurveyRecord& record_;
  const Findings& findings_;
};

// One figure a piece: their sizes and fitted values.
void add_fits(SurveyRecord& record, const Findings& findings) {
  for (const std::string& way : findings.ways("pingpong")) {
    int piece = 0;
    for (const FitSegment& segment : fit(findings.over_bytes("pingpong", way, 2), 4)) {
      const std::string name = fmt::format("ap1000.fit.{}.{}", way, ++piece);
      const auto add = [&](const char* what, const char* unit, double value,
                           core::Interval interval) {
        Result result;
        result.name = fmt::format("{}.{}", name, what);
        result.what =
            fmt::format("{} of the line through the times of {}", what, title_of_way(way));
        result.unit = unit;
        if (std::isfinite(value)) result.value = value;
        if (std::isfinite(interval.low) && std::isfinite(interval.high)) result.interval = interval;
        result.parameters = {{"from_bytes", segment.from},
                             {"to_bytes", segment.to},
                             {"points", segment.points},
                             {"worst_relative_residual", segment.line.worst_relative_residual}};
        record.results.push_back(std::move(result));
      };
      add("t0", "s", segment.line.t0(), segment.line.intercept_interval);
      if (!(segment.line.slope > 0)) continue;
      add("r_inf", "B/s", segment.line.r_inf(), segment.r_inf_interval());
      add("n_half", "B", segment.line.n_half(), segment.n_half_interval());
    }
  }
}

}  // namespace

void add_record(SurveyRecord& record, const Findings& findings) {
  for (const Point& point : findings.points) {
    if (point.measured()) record.results.push_back(result_of(point, findings));
  }
  add_fits(record, findings);
  Tables tables(record, findings);
  tables.add_ping_pong();
  tables.add_broadcast();
  tables.add_global();
  tables.add_over_sizes("vector", "sum of a vector", {"elements", "", true}, elements_of);
  tables.add_over_sizes("gather", "gather over the size of the whole array",
                        {"whole array", "B", true}, bytes_of);
  tables.add_over_sizes("scatter", "scatter over the size of the whole array",
                        {"whole array", "B", true}, bytes_of);
  tables.add_barrier();
}

}  // namespace tabane::lab::ap1000
