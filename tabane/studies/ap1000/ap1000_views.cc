// The tables and charts of the study ap1000, with the report's figures.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

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

// A line for each way of doing this.
std::vector<Line> ways_of(const StudyViews& views, const char* part, const Factors& more = {}) {
  std::vector<Line> ways = lines_by(views.points, "way", {{"part", part}}, title_of_way);
  for (Line& way : ways) way.factors = way.factors.with(more);
  return ways;
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

std::string about_pus(int pus) {
  if (pus == 0) return "";
  if (pus == 1) return " There is one PU here, so all ranks take turns.";
  return fmt::format(" More ranks than the {} PUs take turns.", pus);
}

// Ranks on the axis; a mark where they begin to take turns.
void chart_over_ranks(const StudyViews& views, int pus, const std::string& part,
                      const std::vector<Line>& lines) {
  Curves curves = times_over(views.points, "ranks", lines, "ranks");
  double most = 0;
  for (const Curve& curve : curves.series) most = std::max(most, curve.x.back());
  if (pus > 1 && pus < most)
    curves.marks.push_back({static_cast<double>(pus), fmt::format("{} PUs", pus)});
  views.chart(part, std::move(curves));
}

// Sizes on the axis, with the most ranks.
void chart_over_sizes(const StudyViews& views, const char* part, const char* axis, const char* unit,
                      double x_scale = 1) {
  const auto ranks = views.points.numbers("ranks", {{"part", part}});
  if (ranks.empty()) return;
  views.chart(part,
              times_over(views.points, "bytes", ways_of(views, part, {{"ranks", ranks.back()}}),
                         axis, unit, x_scale),
              {{"ranks", fmt::format("{:g}", ranks.back())}});
}

// ---- ping-pong ----

// A published line t0 + n / r_inf over the sizes that were measured here.
Curve published_line(const StudyViews& views, const std::string& name, const std::string& title,
                     const PointList& points) {
  Curve curve{.name = title, .role = Role::published};
  const Entry t0 = views.published(name + ".t0"), r_inf = views.published(name + ".r_inf");
  if (!t0.value || !r_inf.value) return curve;
  for (const Point* point : points) {
    const double bytes = bytes_of(*point);
    if (!is_power_of_two(bytes) || bytes > 65536) continue;
    curve.x.push_back(bytes);
    curve.y.push_back(*t0.value + bytes / *r_inf.value);
  }
  return curve;
}

void ping_pong(const StudyViews& views) {
  const Factors recv{{"way", "recv"}}, view{{"way", "view"}};
  views.table("ping_pong",
              {{"message", level_of("bytes", "B")},
               {"recv (copy)", time_of(recv, true)},
               {"recv_view (in place)", time_of(view, true)},
               {"recv / recv_view", ratio_of(recv, view)},
               {"recv bandwidth", rate_of(recv, "B/s", bytes_of)}},
              only(combinations(views.points, {"bytes"}, recv.with({{"part", "pingpong"}})),
                   "bytes", [](double bytes) { return is_power_of_two(bytes, 3); }));
}

void ping_pong_charts(const StudyViews& views) {
  Curves curves = half_round_trips(views.points, ways_of(views, "pingpong"));
  if (curves.series.empty()) return;
  const PointList points = views.points.where({{"part", "pingpong"}, {"way", "recv"}}, "bytes");
  for (const auto& [way, title] :
       {std::pair{"fit.recv", "AP1000 (1992), copy"}, {"fit.view", "AP1000 (1992), in place"}})
    add_curve(curves, published_line(views, way, title, points));
  views.chart("pingpong.time", curves);
  views.chart("pingpong.bandwidth", as_rate(std::move(curves), {"bandwidth", "B/s", true}));
}

void fits(const StudyViews& views) {
  Rows rows = fit_rows("receive");
  for (const Line& line : ways_of(views, "pingpong"))
    add_fit(views.record, "fit." + line.factors.word("way"), line.name,
            views.points.where(line.factors, "bytes"), rows);
  if (rows.rows.empty()) return;
  for (const auto& [way, title] : {std::pair{"recv", "copy, distance 1"},
                                   {"recv_far", "copy, distance 24"},
                                   {"view", "in place, distance 1"},
                                   {"conventional", "conventional interface"}}) {
    const Entry t0 = views.published(fmt::format("fit.{}.t0", way));
    const Entry r_inf = views.published(fmt::format("fit.{}.r_inf", way));
    if (!t0.value || !r_inf.value) continue;
    rows.rows.push_back(
        {fmt::format("AP1000: {}", title), "", t0, r_inf, {*t0.value * *r_inf.value, "B"}, {}});
  }
  views.table("fits", std::move(rows), {{"fit_note", kFitNote}});
}

// ---- collectives ----

// Times of these sizes, for each rank or in all; the line through all sizes, and the report's of
// that name.
std::vector<Column> with_sizes(const StudyViews& views, std::vector<Column> columns,
                               std::initializer_list<std::pair<const char*, double>> sizes,
                               bool for_each_rank,
                               std::function<std::string(const Factors& row)> theirs) {
  for (const auto& [head, bytes] : sizes)
    columns.push_back(
        {head, time_of(Pick([=, bytes = bytes](const Points& points, const Factors& row) {
           const double times = for_each_rank ? row.number("ranks") : 1;
           return points.find(row.with({{"bytes", bytes * times}}));
         }))});
  columns.push_back({"here, µs", [](const Points& points, const Factors& row) {
                       const auto fit = fit_over_bytes(points.where(row, "bytes"), 1).at(0);
                       return Entry(formula(fit.line.t0(), fit.line.slope));
                     }});
  columns.push_back(
      {"AP1000, µs", [&views, theirs = std::move(theirs)](const Points&, const Factors& row) {
         const Result* found = views.report.find("ap1000." + theirs(row));
         if (found == nullptr) return Entry();
         const auto t0 = found->number_detail("t0_s"), slope = found->number_detail("per_byte_s");
         return t0 && slope ? Entry(formula(*t0, *slope)) : Entry();
       }});
  return columns;
}

void broadcast(const StudyViews& views, int pus) {
  const auto theirs = [](const Factors& row) {
    const bool tree = row.word("way") == "binomial";
    return fmt::format("broadcast.{}.ranks{}", tree ? "binomial" : "network", row.text("ranks"));
  };
  views.table(
      "broadcast.table",
      with_sizes(views, {{"ranks", level_of("ranks")}, {"way", word_of("way", title_of_way)}},
                 {{"8 B", 8}, {"4 KiB", 4096}, {"64 KiB", 65536}}, false, theirs),
      combinations(views.points, {"ranks", "way"}, {{"part", "broadcast"}}));
  std::vector<Line> lines;
  for (const Line& line : ways_of(views, "broadcast")) {
    for (const int bytes : {8, 4096})
      lines.push_back({line.name + ", " + show(bytes, "B"), line.factors.with({{"bytes", bytes}})});
  }
  chart_over_ranks(views, pus, "broadcast", lines);
}

void global(const StudyViews& views, int pus) {
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
                                    const auto shape =
                                        comm::fit_grid(static_cast<int>(row.number("ranks")));
                                    return fmt::format("{} x {}", shape.rows, shape.columns);
                                  }}};
  for (const auto& one : kFunctions)
    columns.push_back(
        {one.head, time_of({{"part", one.part}, {"way", one.way}, {"group", one.group}})});
  std::vector<Factors> all;
  for (const double ranks : views.points.numbers("ranks", {{"part", "sum"}}))
    all.push_back({{"ranks", ranks}});
  Rows rows = rows_of(columns, views.points, all);
  if (rows.rows.empty()) return;
  for (const int side : {4, 8, 16}) {
    std::vector<Entry> row = {fmt::format("AP1000: {0} x {0}", side)};
    for (const auto& one : kFunctions)
      row.push_back(views.published(
          fmt::format("{}.{}.{}.ranks{}", one.part, one.way, one.group, side * side)));
    rows.rows.push_back(std::move(row));
  }
  views.table("global.table", std::move(rows));
  std::vector<Line> lines;
  for (const char* way : {"chosen", "tree"}) {
    for (const auto& [part, name] : {std::pair{"sum", "sum"}, {"max_loc", "max with index"}})
      lines.push_back(
          {fmt::format("{}, {}", name, way), {{"part", part}, {"way", way}, {"group", "all"}}});
  }
  chart_over_ranks(views, pus, "global", lines);
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

void vectors(const StudyViews& views) {
  const Factors elements{{"way", "elements"}}, vector{{"way", "vector"}};
  std::vector<std::string> by_vector, by_tree;
  for (const double ranks : views.points.numbers("ranks", {{"part", "vector"}})) {
    by_vector.push_back(crossing(views.points, "vector", ranks));
    by_tree.push_back(crossing(views.points, "vector tree", ranks));
  }
  const auto number = [](const Points&, const Factors& row) {
    return count_entry(row.number("bytes") / sizeof(double));
  };
  const auto few = [](double bytes) {
    const double n = bytes / sizeof(double);
    return n <= 4 || n == 16 || n == 64;
  };
  views.table(
      "vector.table",
      {{"ranks", level_of("ranks")},
       {"elements", number},
       {"element by element", time_of(elements)},
       {"one vector", time_of(vector)},
       {"one vector, tree of messages", time_of({{"way", "vector tree"}})},
       {"elements / vector", ratio_of(elements, vector)}},
      only(combinations(views.points, {"ranks", "bytes"}, elements.with({{"part", "vector"}})),
           "bytes", few),
      {{"by_vector", join(by_vector)}, {"by_tree", join(by_tree)}});
  chart_over_sizes(views, "vector", "elements", "", 1.0 / sizeof(double));
}

void gathering(const StudyViews& views) {
  std::vector<Factors> rows = combinations(views.points, {"ranks", "part", "way"});
  std::erase_if(rows, [](const Factors& row) {
    const std::string& part = row.word("part");
    return part != "gather" && part != "scatter";
  });
  const auto theirs = [](const Factors& row) {
    const std::string& way = row.word("way");
    return fmt::format("{}.{}{}", row.word("part"), way, way == "polling" ? ".ranks64" : "");
  };
  views.table(
      "gathering",
      with_sizes(views,
                 {{"ranks", level_of("ranks")},
                  {"operation", word_of("part")},
                  {"way", word_of("way", title_of_way)}},
                 {{"64 B per rank", 64}, {"8 KiB per rank", 8192}, {"64 KiB per rank", 65536}},
                 true, theirs),
      rows);
  for (const char* part : {"gather", "scatter"}) chart_over_sizes(views, part, "whole array", "B");
}

// t = per_doubling · log2 p + constant of the barrier by messages.
std::string log_formula(const PointList& points) {
  Curve times = curve_over("", points, "ranks");
  if (times.x.size() < 2) return "";
  for (double& x : times.x) x = std::log2(x);
  const core::LineFit line = core::fit_line(times.x, times.y, core::FitWeight::relative, 1);
  const Shown shown = shown_in(std::max(std::abs(line.intercept), std::abs(line.slope)), "s");
  return fmt::format("{} {}", formula(line.intercept, line.slope, shown.factor, "log2 p"),
                     shown.unit);
}

void barrier(const StudyViews& views, int pus) {
  const Factors part{{"part", "barrier"}}, messages = part.with({{"way", "messages"}});
  const std::vector<Line> lines = ways_of(views, "barrier");
  std::vector<Column> columns = {{"ranks", level_of("ranks")}};
  for (const Line& line : lines) columns.push_back({line.name, time_of(line.factors, true)});
  if (lines.size() > 1)
    columns.push_back(
        {"messages / " + lines[0].factors.word("way"), ratio_of(messages, lines[0].factors)});
  columns.push_back(
      {"AP1000: messages", published_of(views.report, "barrier.messages.ranks{ranks}")});
  columns.push_back({"its network", published_of(views.report, "barrier.network.ranks{ranks}")});
  views.table("barrier.table", columns, combinations(views.points, {"ranks"}, part),
              {{"formula", log_formula(views.points.where(messages, "ranks"))}});
  chart_over_ranks(views, pus, "barrier", lines);
}

}  // namespace

void add_views(Record& record, const Points& points, const std::string& transport, int pus) {
  const StudyViews views{record,
                         points,
                         published("ap1000"),
                         {{"transport", transport}, {"about_pus", about_pus(pus)}}};
  ping_pong(views);
  fits(views);
  ping_pong_charts(views);
  broadcast(views, pus);
  global(views, pus);
  vectors(views);
  gathering(views);
  barrier(views, pus);
  for (Result& result : record.results) result.details[detail::kHeldFixed] = transport;
}

}  // namespace tabane::lab::ap1000
