// The tables and charts of the study ap1000, with the report's figures beside.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tabane/core/units.h"
#include "tabane/lab/record/published.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/study/message_views.h"
#include "tabane/studies/ap1000/ap1000.h"

namespace tabane::lab::ap1000 {
namespace {

std::string title_of_way(const std::string& way) {
  static const std::map<std::string, std::string> titles = {
      {"recv", "recv (copy)"},
      {"view", "recv_view (in place)"},
      {"flags", "flags in shared memory"},
      {"messages", "tree of messages"},
      {"binomial", "tree of messages"},
      {"tree", "tree of messages"},
      {"native", "MPI's own"},
      {"elements", "element by element"},
      {"vector", "one vector"},
      {"vector tree", "one vector, tree of messages"}};
  const auto found = titles.find(way);
  return found == titles.end() ? way : found->second;
}

// Three digits and no exponent: people compare them along a column.
std::string plain_number(double v) {
  if (v == 0 || !std::isfinite(v)) return fmt::format("{:g}", v);
  const int decimals = std::clamp(2 - static_cast<int>(std::floor(std::log10(v))), 0, 12);
  std::string text = fmt::format("{:.{}f}", v, decimals);
  if (decimals > 0) text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// "0.00011 x + 2.8", as the report writes it. x: the name of the variable; per_second: the unit.
std::string formula(double t0_s, double per_x_s, double per_second = 1e6, const char* x = "x") {
  return fmt::format("{}{} {} {} {}", per_x_s < 0 ? "−" : "",
                     plain_number(std::abs(per_x_s) * per_second), x, t0_s < 0 ? "−" : "+",
                     plain_number(std::abs(t0_s) * per_second));
}

struct Data {
  Record& record;
  const Points& points;
  const std::string& transport;
  int pus;
  const Record& report = published("ap1000");

  PointList over_bytes(const Factors& wanted) const { return points.where(wanted, "bytes"); }
  // Null entries where nothing was measured.
  Entry median(const Factors& wanted) const { return median_entry(points.find(wanted)); }
  std::vector<double> ranks_of(const char* part) const {
    return points.numbers("ranks", {{"part", part}});
  }
  std::vector<std::string> ways_of(const char* part) const {
    return points.words("way", {{"part", part}});
  }
  Entry report_time(const std::string& name) const {
    return published_entry(report, "ap1000." + name);
  }
  // None if the report has no formula for these.
  Entry report_formula(const std::string& name) const {
    const Result* found = report.find("ap1000." + name);
    if (found == nullptr) return {};
    const auto t0 = found->number_detail("t0_s"), slope = found->number_detail("per_byte_s");
    return t0 && slope ? Entry(formula(*t0, *slope)) : Entry();
  }
  std::string about_pus() const {
    if (pus == 0) return "";
    if (pus == 1) return " There is one PU here, so all ranks take turns.";
    return fmt::format(" More ranks than the {} PUs take turns.", pus);
  }
  void chart(const std::string& name, const std::string& title, const std::string& note,
             Curves curves) const {
    add_chart(record, name, fmt::format("{} ({})", title, transport), note, std::move(curves));
  }
};

// Ranks on the axis; a mark where they begin to take turns.
void chart_over_ranks(const Data& data, const std::string& part, const std::string& title,
                      const std::string& note, const std::vector<Line>& lines) {
  Curves curves = times_over(data.points, "ranks", lines, "ranks");
  double most = 0;
  for (const Curve& curve : curves.series) most = std::max(most, curve.x.back());
  if (data.pus > 1 && data.pus < most)
    curves.marks.push_back({static_cast<double>(data.pus), fmt::format("{} PUs", data.pus)});
  data.chart(part, title, note + data.about_pus(), std::move(curves));
}

// Sizes on the axis, with the most ranks.
void chart_over_sizes(const Data& data, const char* part, const std::string& title,
                      const std::string& note, const char* axis, const char* unit,
                      double x_scale = 1) {
  const auto ranks = data.ranks_of(part);
  if (ranks.empty()) return;
  std::vector<Line> lines;
  for (const std::string& way : data.ways_of(part))
    lines.push_back({title_of_way(way), {{"part", part}, {"way", way}, {"ranks", ranks.back()}}});
  data.chart(part, fmt::format("{}, {:g} ranks", title, ranks.back()), note,
             times_over(data.points, "bytes", lines, axis, unit, x_scale));
}

// ---- ping-pong ----

// A published line t0 + n / r_inf over the sizes that were measured here.
Curve published_line(const Record& report, const std::string& name, const std::string& title,
                     const PointList& points) {
  Curve curve{.name = title, .role = Role::published};
  const Result* t0 = report.find(name + ".t0");
  const Result* r_inf = report.find(name + ".r_inf");
  if (t0 == nullptr || r_inf == nullptr) return curve;
  for (const Point* point : points) {
    const double bytes = point->number("bytes");
    if (std::exp2(std::floor(std::log2(bytes))) != bytes || bytes > 65536) continue;
    curve.x.push_back(bytes);
    curve.y.push_back(*t0->value + bytes / *r_inf->value);
  }
  return curve;
}

void ping_pong_table(const Data& data) {
  const Factors recv{{"way", "recv"}}, view{{"way", "view"}};
  std::vector<Factors> sizes =
      combinations(data.points, {"bytes"}, recv.with({{"part", "pingpong"}}));
  std::erase_if(sizes, [](const Factors& size) {
    const double power = std::log2(size.find("bytes")->number());
    return power != std::floor(power) || static_cast<int>(power) % 3 != 0;
  });
  add_table(
      data.record, fmt::format("Half a round trip between two ranks, over {}", data.transport),
      PointTable(data.points)
          .level("message", "bytes", "B")
          .time("recv (copy)", recv, true)
          .time("recv_view (in place)", view, true)
          .ratio("recv / recv_view", recv, view)
          .rate("recv bandwidth", recv, "B/s", [](const Point& one) { return one.number("bytes"); })
          .rows(sizes),
      "Medians with their 95 % intervals; ratios are of samples taken in turn. recv_view "
      "gives the message where it lies and does not read it, like the report's crecv.");
}

void ping_pong_charts(const Data& data) {
  std::vector<Line> lines;
  for (const std::string& way : data.ways_of("pingpong"))
    lines.push_back({title_of_way(way), {{"part", "pingpong"}, {"way", way}}});
  Curves curves = half_round_trips(data.points, lines);
  if (curves.series.empty()) return;
  const PointList points = data.over_bytes({{"part", "pingpong"}, {"way", "recv"}});
  add_curve(curves, published_line(data.report, "ap1000.fit.recv", "AP1000 (1992), copy", points));
  add_curve(curves,
            published_line(data.report, "ap1000.fit.view", "AP1000 (1992), in place", points));
  data.chart("pingpong.time", "Ping-pong: time over size, lines t0 + n / r_inf",
             "Points are medians with their 95 % intervals. Lines are the fits t0 + n / r_inf, "
             "cut where the data demand it: the level end of a line is t0, its slope is 1 / "
             "r_inf.",
             curves);
  data.chart("pingpong.bandwidth", "Ping-pong: bandwidth over size, and the same lines",
             "The same points and lines as bandwidth. In place, the receiver copies nothing.",
             as_rate(std::move(curves), {"bandwidth", "B/s", true}));
}

void fits(const Data& data) {
  Rows rows = fit_rows("receive");
  for (const std::string& way : data.ways_of("pingpong"))
    add_fit(data.record, "fit." + way, title_of_way(way),
            data.over_bytes({{"part", "pingpong"}, {"way", way}}), rows);
  if (rows.rows.empty()) return;
  for (const auto& [way, title] : {std::pair{"recv", "copy, distance 1"},
                                   {"recv_far", "copy, distance 24"},
                                   {"view", "in place, distance 1"},
                                   {"conventional", "conventional interface"}}) {
    const Entry t0 = data.report_time(fmt::format("fit.{}.t0", way));
    const Entry r_inf = data.report_time(fmt::format("fit.{}.r_inf", way));
    if (!t0.value || !r_inf.value) continue;
    rows.rows.push_back(
        {fmt::format("AP1000: {}", title), "", t0, r_inf, {*t0.value * *r_inf.value, "B"}, {}});
  }
  add_table(data.record, "The lines through them: t = t0 + n / r_inf, n_half = t0 r_inf", rows,
            kFitNote);
}

// ---- collectives ----

// `first`, the times of these sizes, the line through all sizes and that of the report.
std::vector<Entry> row_of_sizes(const Data& data, std::vector<Entry> first, const Factors& factors,
                                std::initializer_list<double> sizes, const std::string& theirs) {
  for (const double bytes : sizes) first.push_back(data.median(factors.with({{"bytes", bytes}})));
  const core::LineFit line = fit_over_bytes(data.over_bytes(factors), 1).at(0).line;
  first.push_back(formula(line.t0(), line.slope));
  first.push_back(data.report_formula(theirs));
  return first;
}

void broadcast(const Data& data) {
  const auto row_of = [&](const Factors& factors) {
    const double ranks = factors.find("ranks")->number();
    const std::string way = factors.find("way")->word();
    return row_of_sizes(
        data, {count_entry(ranks), title_of_way(way)}, factors, {8, 4096, 65536},
        fmt::format("broadcast.{}.ranks{:g}", way == "binomial" ? "binomial" : "network", ranks));
  };
  add_table(data.record, "Broadcast along a row",
            rows_of({"ranks", "way", "8 B", "4 KiB", "64 KiB", "here, µs", "AP1000, µs"},
                    combinations(data.points, {"ranks", "way"}, {{"part", "broadcast"}}), row_of),
            "The root goes round the row from call to call. x: bytes. The AP1000 broadcasts in its "
            "network, or by a binary tree of messages." +
                data.about_pus());
  std::vector<Line> lines;
  for (const std::string& way : data.ways_of("broadcast")) {
    for (const int bytes : {8, 4096})
      lines.push_back({title_of_way(way) + ", " + show(bytes, "B"),
                       {{"part", "broadcast"}, {"way", way}, {"bytes", bytes}}});
  }
  chart_over_ranks(data, "broadcast", "Broadcast along a row",
                   "Flags in shared memory let all ranks read at once; a tree passes messages on.",
                   lines);
}

void global(const Data& data) {
  static constexpr std::pair<const char*, const char*> kWaysAndGroups[] = {
      {"chosen", "row"}, {"chosen", "column"}, {"chosen", "all"}, {"tree", "all"}};
  // `entry_of` what, by which way, in which group.
  const auto row_of = [](std::string first, const auto& entry_of) {
    std::vector<Entry> row = {std::move(first)};
    for (const char* part : {"sum", "max_loc"})
      for (const auto& [way, group] : kWaysAndGroups) row.push_back(entry_of(part, way, group));
    return row;
  };
  Rows rows = rows_of(
      {"grid", "sum: row", "column", "all", "all, tree", "max with index: row", "column", "all",
       "all, tree"},
      data.ranks_of("sum"), [&](double ranks) {
        const comm::GridShape shape = comm::fit_grid(static_cast<int>(ranks));
        return row_of(fmt::format("{} x {}", shape.rows, shape.columns), [&](const char* part,
                                                                             const char* way,
                                                                             const char* group) {
          return data.median({{"part", part}, {"way", way}, {"group", group}, {"ranks", ranks}});
        });
      });
  if (rows.rows.empty()) return;
  for (const int side : {4, 8, 16})
    rows.rows.push_back(row_of(fmt::format("AP1000: {0} x {0}", side),
                               [&](const char* part, const char* way, const char* group) {
                                 return data.report_time(fmt::format("{}.{}.{}.ranks{}", part, way,
                                                                     group, side * side));
                               }));
  add_table(data.record, "Global functions: one value, every rank gets the result", rows,
            "All rows, or all columns, at once. Tree: of messages, like the report's 16-byte ones. "
            "A row or column of one rank costs a call.");
  std::vector<Line> lines;
  for (const char* way : {"chosen", "tree"}) {
    for (const auto& [part, name] : {std::pair{"sum", "sum"}, {"max_loc", "max with index"}})
      lines.push_back(
          {fmt::format("{}, {}", name, way), {{"part", part}, {"way", way}, {"group", "all"}}});
  }
  chart_over_ranks(data, "global", "Sum and maximum with its index, all ranks",
                   "The tree is of messages, like the report's.", lines);
}

// The fewest elements from which up one way is surely faster than element by element.
std::string crossing(const Points& points, const std::string& way, double ranks) {
  std::optional<double> from;
  const Factors factors{{"part", "vector"}, {"ranks", ranks}};
  for (const Point* elements : points.where(factors.with({{"way", "elements"}}), "bytes")) {
    const double bytes = elements->number("bytes");
    const auto ratio =
        ratio_in_turn(elements, points.find(factors.with({{"way", way}, {"bytes", bytes}})));
    if (!ratio || ratio->pairs < core::kFewestForInterval || ratio->interval.low <= 1)
      from.reset();
    else if (!from)
      from = bytes / sizeof(double);
  }
  return fmt::format("{} with {:g} ranks", from ? fmt::format("{:g}", *from) : "no number", ranks);
}

void vectors(const Data& data) {
  const Factors elements{{"way", "elements"}}, vector{{"way", "vector"}};
  const auto number_of = [](const Factors& row) {
    return row.find("bytes")->number() / sizeof(double);
  };
  std::vector<Factors> shown =
      combinations(data.points, {"ranks", "bytes"}, elements.with({{"part", "vector"}}));
  std::erase_if(shown, [&](const Factors& row) {
    const double n = number_of(row);
    return n > 4 && n != 16 && n != 64;
  });
  const Rows rows =
      PointTable(data.points)
          .level("ranks", "ranks")
          .column("elements", [&](const Factors& row) { return count_entry(number_of(row)); })
          .time("element by element", elements)
          .time("one vector", vector)
          .time("one vector, tree of messages", {{"way", "vector tree"}})
          .ratio("elements / vector", elements, vector)
          .rows(shown);
  std::vector<std::string> by_vector, by_tree;
  for (const double ranks : data.ranks_of("vector")) {
    by_vector.push_back(crossing(data.points, "vector", ranks));
    by_tree.push_back(crossing(data.points, "vector tree", ranks));
  }
  add_table(data.record, "Sum of a vector: element by element against one reduction", rows,
            fmt::format("One vector wins from this number of elements up: {}; by a tree of "
                        "messages: {}. On the AP1000 a tree of messages wins over the scalar "
                        "global function from about 4 elements up.",
                        join(by_vector), join(by_tree)));
  chart_over_sizes(data, "vector", "Sum of a vector",
                   "Element by element is one call per element; where it crosses another curve, "
                   "one reduction pays.",
                   "elements", "", 1.0 / sizeof(double));
}

void gathering(const Data& data) {
  const auto row_of = [&](const Factors& factors) -> std::vector<Entry> {
    const double ranks = factors.find("ranks")->number();
    const std::string part = factors.find("part")->word(), way = factors.find("way")->word();
    if (part != "gather" && part != "scatter") return {};
    return row_of_sizes(data, {count_entry(ranks), part, title_of_way(way)}, factors,
                        {64 * ranks, 8192 * ranks, 65536 * ranks},
                        fmt::format("{}.{}{}", part, way, way == "polling" ? ".ranks64" : ""));
  };
  add_table(data.record, "Gather to and scatter from one rank",
            rows_of({"ranks", "operation", "way", "64 B per rank", "8 KiB per rank",
                     "64 KiB per rank", "here, µs", "AP1000, µs"},
                    combinations(data.points, {"ranks", "part", "way"}), row_of),
            "x: bytes of the whole array, of 4-byte elements. Fine: rank r has elements r, r + p, "
            "…; block: one piece per rank; polling: the root asks one rank after the other "
            "(AP1000: 64 cells). The AP1000 gathers to its host in one operation, whatever the "
            "number of cells.");
  for (const auto& [part, title] : {std::pair{"gather", "Gather"}, {"scatter", "Scatter"}})
    chart_over_sizes(data, part, title,
                     "Fine: element by element in turn; block: one piece per rank; polling: the "
                     "root asks one rank after the other.",
                     "whole array", "B");
}

// t = per_doubling · log2 p + constant of the barrier by messages.
std::string log_formula(const PointList& points) {
  Curve times = curve_over("", points, "ranks");
  if (times.x.size() < 2) return "";
  for (double& x : times.x) x = std::log2(x);
  const core::LineFit line = core::fit_line(times.x, times.y, core::FitWeight::relative, 1);
  const Shown shown = shown_in(std::max(std::abs(line.intercept), std::abs(line.slope)), "s");
  return fmt::format(" Here, by messages: {} {}.",
                     formula(line.intercept, line.slope, shown.factor, "log2 p"), shown.unit);
}

void barrier(const Data& data) {
  const auto ways = data.ways_of("barrier");
  const bool compares = ways.size() > 1;
  std::vector<std::string> columns = {"ranks"};
  std::vector<Line> lines;
  for (const std::string& way : ways) {
    columns.push_back(title_of_way(way));
    lines.push_back({title_of_way(way), {{"part", "barrier"}, {"way", way}}});
  }
  if (compares) columns.push_back("messages / " + ways[0]);
  columns.insert(columns.end(), {"AP1000: messages", "its network"});
  const Rows rows = rows_of(columns, data.ranks_of("barrier"), [&](double ranks) {
    const auto by = [&](const std::string& way) {
      return data.points.find({{"part", "barrier"}, {"way", way}, {"ranks", ranks}});
    };
    std::vector<Entry> row = {count_entry(ranks)};
    for (const std::string& way : ways) row.push_back(median_entry(by(way), true));
    if (compares) row.push_back(ratio_entry(by("messages"), by(ways[0])));
    for (const char* theirs : {"messages", "network"})
      row.push_back(data.report_time(fmt::format("barrier.{}.ranks{:g}", theirs, ranks)));
    return row;
  });
  add_table(
      data.record, "Barrier", rows,
      "On its own network the AP1000 takes the same time for any number of cells; by messages "
      "it takes 33 log2 p + 6.8 µs." +
          log_formula(data.points.where({{"part", "barrier"}, {"way", "messages"}}, "ranks")) +
          data.about_pus());
  chart_over_ranks(data, "barrier", "Barrier",
                   "The AP1000's own network takes 10.6 µs for any number of cells.", lines);
}

}  // namespace

void add_views(Record& record, const Points& points, const std::string& transport, int pus) {
  const Data data{record, points, transport, pus};
  ping_pong_table(data);
  fits(data);
  ping_pong_charts(data);
  broadcast(data);
  global(data);
  vectors(data);
  gathering(data);
  barrier(data);
  for (Result& result : record.results) result.details[detail::kHeldFixed] = transport;
}

}  // namespace tabane::lab::ap1000
