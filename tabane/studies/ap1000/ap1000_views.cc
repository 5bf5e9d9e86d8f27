// The tables and charts of the study ap1000, with the report's figures.
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

std::string same_word(const std::string& word) { return word; }

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

// What the study measured, and what the report did.
struct Findings {
  Record& record;
  const Points& points;
  const std::string& transport;
  int pus;
  const Record& report = published("ap1000");

  std::vector<double> ranks_of(const char* part) const {
    return points.numbers("ranks", {{"part", part}});
  }
  // A line for each way of doing this.
  std::vector<Line> lines_of(const char* part, const Factors& more = {}) const {
    std::vector<Line> lines;
    for (const std::string& way : points.words("way", {{"part", part}}))
      lines.push_back({title_of_way(way), Factors{{"part", part}, {"way", way}}.with(more)});
    return lines;
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
  void table(const std::string& title, const std::vector<Column>& columns,
             const std::vector<Factors>& rows, const std::string& note) const {
    add_table(record, title, rows_of(columns, points, rows), note);
  }
  void chart(const std::string& name, const std::string& title, const std::string& note,
             Curves curves) const {
    add_chart(record, name, fmt::format("{} ({})", title, transport), note, std::move(curves));
  }
};

// Ranks on the axis; a mark where they begin to take turns.
void chart_over_ranks(const Findings& data, const std::string& part, const std::string& title,
                      const std::string& note, const std::vector<Line>& lines) {
  Curves curves = times_over(data.points, "ranks", lines, "ranks");
  double most = 0;
  for (const Curve& curve : curves.series) most = std::max(most, curve.x.back());
  if (data.pus > 1 && data.pus < most)
    curves.marks.push_back({static_cast<double>(data.pus), fmt::format("{} PUs", data.pus)});
  data.chart(part, title, note + data.about_pus(), std::move(curves));
}

// Sizes on the axis, with the most ranks.
void chart_over_sizes(const Findings& data, const char* part, const std::string& title,
                      const std::string& note, const char* axis, const char* unit,
                      double x_scale = 1) {
  const auto ranks = data.ranks_of(part);
  if (ranks.empty()) return;
  data.chart(part, fmt::format("{}, {:g} ranks", title, ranks.back()), note,
             times_over(data.points, "bytes", data.lines_of(part, {{"ranks", ranks.back()}}), axis,
                        unit, x_scale));
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

void ping_pong_table(const Findings& data) {
  const Factors recv{{"way", "recv"}}, view{{"way", "view"}};
  std::vector<Factors> sizes =
      combinations(data.points, {"bytes"}, recv.with({{"part", "pingpong"}}));
  std::erase_if(sizes, [](const Factors& size) {
    const double power = std::log2(size.find("bytes")->number());
    return power != std::floor(power) || static_cast<int>(power) % 3 != 0;
  });
  const auto bytes_of = [](const Point& point) { return point.number("bytes"); };
  data.table(fmt::format("Half a round trip between two ranks, over {}", data.transport),
             {{"message", level_of("bytes", "B")},
              {"recv (copy)", time_of(recv, true)},
              {"recv_view (in place)", time_of(view, true)},
              {"recv / recv_view", ratio_of(recv, view)},
              {"recv bandwidth", rate_of(recv, "B/s", bytes_of)}},
             sizes,
             "Medians with their 95 % intervals; ratios are of samples taken in turn. recv_view "
             "gives the message where it lies and does not read it, like the report's crecv.");
}

void ping_pong_charts(const Findings& data) {
  Curves curves = half_round_trips(data.points, data.lines_of("pingpong"));
  if (curves.series.empty()) return;
  const PointList points = data.points.where({{"part", "pingpong"}, {"way", "recv"}}, "bytes");
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

void fits(const Findings& data) {
  Rows rows = fit_rows("receive");
  for (const Line& line : data.lines_of("pingpong"))
    add_fit(data.record, "fit." + line.factors.find("way")->word(), line.name,
            data.points.where(line.factors, "bytes"), rows);
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

// Times of these sizes, for each rank or in all; the line through all sizes, and the report's of
// that name.
std::vector<Column> with_sizes(const Findings& data, std::vector<Column> columns,
                               std::initializer_list<std::pair<const char*, double>> sizes,
                               bool for_each_rank,
                               std::function<std::string(const Factors& row)> theirs) {
  for (const auto& [head, bytes] : sizes)
    columns.push_back({head, [=, bytes = bytes](const Points& points, const Factors& row) {
                         const double times = for_each_rank ? row.find("ranks")->number() : 1;
                         return median_entry(points.find(row.with({{"bytes", bytes * times}})));
                       }});
  columns.push_back({"here, µs", [](const Points& points, const Factors& row) {
                       const auto fit = fit_over_bytes(points.where(row, "bytes"), 1).at(0);
                       return Entry(formula(fit.line.t0(), fit.line.slope));
                     }});
  columns.push_back(
      {"AP1000, µs", [&data, theirs = std::move(theirs)](const Points&, const Factors& row) {
         return data.report_formula(theirs(row));
       }});
  return columns;
}

void broadcast(const Findings& data) {
  data.table("Broadcast along a row",
             with_sizes(data, {{"ranks", level_of("ranks")}, {"way", word_of("way", title_of_way)}},
                        {{"8 B", 8}, {"4 KiB", 4096}, {"64 KiB", 65536}}, false,
                        [](const Factors& row) {
                          const bool tree = row.find("way")->word() == "binomial";
                          return fmt::format("broadcast.{}.ranks{}", tree ? "binomial" : "network",
                                             row.find("ranks")->text());
                        }),
             combinations(data.points, {"ranks", "way"}, {{"part", "broadcast"}}),
             "The root goes round the row from call to call. x: bytes. The AP1000 broadcasts in "
             "its network, or by a binary tree of messages." +
                 data.about_pus());
  std::vector<Line> lines;
  for (const Line& line : data.lines_of("broadcast")) {
    for (const int bytes : {8, 4096})
      lines.push_back({line.name + ", " + show(bytes, "B"), line.factors.with({{"bytes", bytes}})});
  }
  chart_over_ranks(data, "broadcast", "Broadcast along a row",
                   "Flags in shared memory let all ranks read at once; a tree passes messages on.",
                   lines);
}

void global(const Findings& data) {
  static constexpr struct {
    const char *head, *part, *way, *group;
  } kFunctions[] = {{"sum: row", "sum", "chosen", "row"},
                    {"column", "sum", "chosen", "column"},
                    {"all", "sum", "chosen", "all"},
                    {"all, tree", "sum", "tree", "all"},
                    {"max with index: row", "max_loc", "chosen", "row"},
                    {"column", "max_loc", "chosen", "column"},
                    {"all", "max_loc", "chosen", "all"},
                    {"all, tree", "max_loc", "tree", "all"}};
  std::vector<Column> columns = {{"grid", [](const Points&, const Factors& row) -> Entry {
                                    const auto shape = comm::fit_grid(
                                        static_cast<int>(row.find("ranks")->number()));
                                    return fmt::format("{} x {}", shape.rows, shape.columns);
                                  }}};
  for (const auto& one : kFunctions)
    columns.push_back(
        {one.head, time_of({{"part", one.part}, {"way", one.way}, {"group", one.group}})});
  std::vector<Factors> all;
  for (const double ranks : data.ranks_of("sum")) all.push_back({{"ranks", ranks}});
  Rows rows = rows_of(columns, data.points, all);
  if (rows.rows.empty()) return;
  for (const int side : {4, 8, 16}) {
    std::vector<Entry> row = {fmt::format("AP1000: {0} x {0}", side)};
    for (const auto& one : kFunctions)
      row.push_back(data.report_time(
          fmt::format("{}.{}.{}.ranks{}", one.part, one.way, one.group, side * side)));
    rows.rows.push_back(std::move(row));
  }
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

double elements_of(const Factors& row) { return row.find("bytes")->number() / sizeof(double); }

void vectors(const Findings& data) {
  const Factors elements{{"way", "elements"}}, vector{{"way", "vector"}};
  std::vector<Factors> shown =
      combinations(data.points, {"ranks", "bytes"}, elements.with({{"part", "vector"}}));
  std::erase_if(shown, [](const Factors& row) {
    const double n = elements_of(row);
    return n > 4 && n != 16 && n != 64;
  });
  std::vector<std::string> by_vector, by_tree;
  for (const double ranks : data.ranks_of("vector")) {
    by_vector.push_back(crossing(data.points, "vector", ranks));
    by_tree.push_back(crossing(data.points, "vector tree", ranks));
  }
  data.table("Sum of a vector: element by element against one reduction",
             {{"ranks", level_of("ranks")},
              {"elements",
               [](const Points&, const Factors& row) { return count_entry(elements_of(row)); }},
              {"element by element", time_of(elements)},
              {"one vector", time_of(vector)},
              {"one vector, tree of messages", time_of({{"way", "vector tree"}})},
              {"elements / vector", ratio_of(elements, vector)}},
             shown,
             fmt::format("One vector wins from this number of elements up: {}; by a tree of "
                         "messages: {}. On the AP1000 a tree of messages wins over the scalar "
                         "global function from about 4 elements up.",
                         join(by_vector), join(by_tree)));
  chart_over_sizes(data, "vector", "Sum of a vector",
                   "Element by element is one call per element; where it crosses another curve, "
                   "one reduction pays.",
                   "elements", "", 1.0 / sizeof(double));
}

void gathering(const Findings& data) {
  std::vector<Factors> rows = combinations(data.points, {"ranks", "part", "way"});
  std::erase_if(rows, [](const Factors& row) {
    const std::string& part = row.find("part")->word();
    return part != "gather" && part != "scatter";
  });
  data.table(
      "Gather to and scatter from one rank",
      with_sizes(data,
                 {{"ranks", level_of("ranks")},
                  {"operation", word_of("part", same_word)},
                  {"way", word_of("way", title_of_way)}},
                 {{"64 B per rank", 64}, {"8 KiB per rank", 8192}, {"64 KiB per rank", 65536}},
                 true,
                 [](const Factors& row) {
                   const std::string& way = row.find("way")->word();
                   return fmt::format("{}.{}{}", row.find("part")->word(), way,
                                      way == "polling" ? ".ranks64" : "");
                 }),
      rows,
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

void barrier(const Findings& data) {
  const Factors part{{"part", "barrier"}}, messages = part.with({{"way", "messages"}});
  const std::vector<Line> lines = data.lines_of("barrier");
  std::vector<Column> columns = {{"ranks", level_of("ranks")}};
  for (const Line& line : lines) columns.push_back({line.name, time_of(line.factors, true)});
  if (lines.size() > 1)
    columns.push_back({"messages / " + lines[0].factors.find("way")->word(),
                       ratio_of(messages, lines[0].factors)});
  columns.push_back(
      {"AP1000: messages", published_of(data.report, "barrier.messages.ranks{ranks}")});
  columns.push_back({"its network", published_of(data.report, "barrier.network.ranks{ranks}")});
  data.table("Barrier", columns, combinations(data.points, {"ranks"}, part),
             "On its own network the AP1000 takes the same time for any number of cells; by "
             "messages it takes 33 log2 p + 6.8 µs." +
                 log_formula(data.points.where(messages, "ranks")) + data.about_pus());
  chart_over_ranks(data, "barrier", "Barrier",
                   "The AP1000's own network takes 10.6 µs for any number of cells.", lines);
}

}  // namespace

void add_views(Record& record, const Points& points, const std::string& transport, int pus) {
  const Findings data{record, points, transport, pus};
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
