// The tables and charts of the study ap1000, with the report's figures.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

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
      {"system", "through the system"},
      {"flags", "flags in shared memory"},
      {"messages", "tree of messages"},
      {"binomial", "tree of messages"},
      {"tree", "tree of messages"},
      {"native", "the transport's own"},
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

// Ranks on the axis; a mark where they begin to take turns. theirs: of the report, for some of the
// same numbers of ranks.
void chart_over_ranks(const StudyViews& views, int pus, const std::string& part,
                      const std::vector<Line>& lines,
                      const std::vector<std::pair<std::string, Cell>>& theirs = {}) {
  Curves curves = times_over(views.points, "ranks", lines, "ranks");
  double most = 0;
  for (const Curve& curve : curves.series) most = std::max(most, curve.x.back());
  if (pus > 1 && pus < most)
    curves.marks.push_back({static_cast<double>(pus), fmt::format("{} PUs", pus)});
  for (const auto& [name, cell] : theirs) {
    Curve curve = curve_of(name, cell, views.points,
                           combinations(views.points, {"ranks"}, {{"part", part}}), "ranks");
    curve.role = Role::published;
    add_curve(curves, std::move(curve));
  }
  views.chart(part, std::move(curves));
}

// ---- the report's lines ----

// t = t0 + x per_x.
struct ReportedLine {
  double t0_s = 0, per_x_s = 0;
};

// What the report says of the line of this name; null: nothing.
std::optional<ReportedLine> reported_line(const StudyViews& views, const std::string& name) {
  const Entry t0 = views.published(name + ".t0"), r_inf = views.published(name + ".r_inf");
  if (t0.value && r_inf.value) return ReportedLine{*t0.value, 1 / *r_inf.value};
  const Result* found = views.report.find("ap1000." + name);
  if (found == nullptr) return std::nullopt;
  const auto fixed = found->number_detail("t0_s"), slope = found->number_detail("per_byte_s");
  if (!fixed || !slope) return std::nullopt;
  return ReportedLine{*fixed, *slope};
}

struct NamedLine {
  const char *name, *title;
};

constexpr double kMostOfReported = 1 << 20;  // bytes up to which the report's lines are drawn

// Adds the report's lines over the sizes of the curves that are there.
void add_reported(Curves& curves, const StudyViews& views, std::initializer_list<NamedLine> lines) {
  std::set<double> sizes;
  for (const Curve& curve : curves.series)
    if (curve.role == Role::measured) sizes.insert(curve.x.begin(), curve.x.end());
  const bool powers = std::ranges::any_of(sizes, [](double n) { return is_power_of_two(n); });
  for (const NamedLine& one : lines) {
    const auto line = reported_line(views, one.name);
    if (!line) continue;
    Curve curve{.name = fmt::format("AP1000 (1992), {}", one.title), .role = Role::published};
    for (const double bytes : sizes) {
      if (bytes > kMostOfReported) break;
      if (powers && !is_power_of_two(bytes)) continue;  // NetPIPE's, some bytes more or less
      curve.x.push_back(bytes);
      curve.y.push_back(line->t0_s + bytes * line->per_x_s);
    }
    add_curve(curves, std::move(curve));
  }
}

// The number of ranks for charts over sizes: the most that have a PU each and form more than one
// row, or else the most. 0: there is none.
double ranks_of_charts(const StudyViews& views, const char* part, int pus) {
  const auto all = views.points.numbers("ranks", {{"part", part}});
  double best = all.empty() ? 0 : all.back();
  for (const double ranks : all)
    if (ranks >= 4 && ranks <= pus) best = ranks;
  return best;
}

// Sizes on the axis, with the report's lines.
void chart_over_sizes(const StudyViews& views, const char* part, int pus, const char* axis,
                      const char* unit, double x_scale = 1,
                      std::initializer_list<NamedLine> theirs = {}) {
  const double ranks = ranks_of_charts(views, part, pus);
  if (ranks == 0) return;
  Curves curves = times_over(views.points, "bytes", ways_of(views, part, {{"ranks", ranks}}), axis,
                             unit, x_scale);
  add_reported(curves, views, theirs);
  views.chart(part, std::move(curves), {{"ranks", fmt::format("{:g}", ranks)}});
}

// ---- ping-pong ----

void ping_pong(const StudyViews& views) {
  const Factors recv{{"way", "recv"}}, view{{"way", "view"}}, system{{"way", "system"}};
  views.table("ping_pong",
              {{"message", level_of("bytes", "B")},
               {"recv (copy)", time_of(recv, true)},
               {"recv_view (in place)", time_of(view, true)},
               {"recv / recv_view", ratio_of(recv, view)},
               {"recv bandwidth", rate_of(recv, "B/s", bytes_of)},
               {"through the system", time_of(system, true)},
               {"system / recv", ratio_of(system, recv)}},
              only(combinations(views.points, {"bytes"}, recv.with({{"part", "pingpong"}})),
                   "bytes", [](double bytes) { return is_power_of_two(bytes, 3); }));
}

void ping_pong_charts(const StudyViews& views) {
  Curves curves = half_round_trips(views.points, ways_of(views, "pingpong"));
  if (curves.series.empty()) return;
  add_reported(curves, views,
               {{"fit.recv", "copy"},
                {"fit.view", "in place"},
                {"fit.conventional", "conventional interface"}});
  views.chart("pingpong.time", curves);
  views.chart("pingpong.bandwidth", as_rate(std::move(curves), {"bandwidth", "B/s", true}));
}

void fits(const StudyViews& views) {
  Rows rows = fit_rows("receive");
  for (const Line& line : ways_of(views, "pingpong"))
    add_fit(views.record, "fit." + line.factors.word("way"), line.name,
            views.points.where(line.factors, "bytes"), rows);
  if (rows.rows.empty()) return;
  for (const NamedLine& one : {NamedLine{"fit.recv", "copy, distance 1"},
                               {"fit.recv_far", "copy, distance 24"},
                               {"fit.view", "in place, distance 1"},
                               {"fit.conventional", "conventional interface"}}) {
    const auto line = reported_line(views, one.name);
    if (!line) continue;
    rows.rows.push_back({fmt::format("AP1000: {}", one.title),
                         "",
                         {line->t0_s, "s"},
                         {1 / line->per_x_s, "B/s"},
                         {line->t0_s / line->per_x_s, "B"},
                         {}});
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
                       const auto fit = fit_over_bytes(points.where(row, "bytes"), 1);
                       if (fit.empty()) return Entry();
                       return Entry(formula(fit[0].line.t0(), fit[0].line.slope));
                     }});
  columns.push_back(
      {"AP1000, µs", [&views, theirs = std::move(theirs)](const Points&, const Factors& row) {
         const auto line = reported_line(views, theirs(row));
         return line ? Entry(formula(line->t0_s, line->per_x_s)) : Entry();
       }});
  return columns;
}

// ---- near and far ----

void distance(const StudyViews& views, const std::vector<Distance>& distances) {
  if (distances.empty()) return;
  const auto pus = [&](const Points&, const Factors& row) -> Entry {
    const auto found = std::ranges::find(distances, row.word("within"), &Distance::within);
    return fmt::format("{} and {}", found->pus[0], found->pus[1]);
  };
  const auto theirs = [&](const Factors& row) -> std::string {
    const std::string& within = row.word("within");
    if (within == distances.front().within) return "fit.recv";
    return within == distances.back().within ? "fit.recv_far" : "";
  };
  const Factors part{{"part", "distance"}};
  views.table("distance.table",
              with_sizes(views, {{"within one", word_of("within")}, {"PUs", pus}},
                         {{"8 B", 8}, {"4 KiB", 4096}, {"64 KiB", 65536}}, false, theirs),
              combinations(views.points, {"within"}, part));
  Curves curves =
      times_over(views.points, "bytes",
                 lines_by(views.points, "within", part,
                          [](const std::string& within) { return "within one " + within; }),
                 "message", "B");
  if (curves.series.empty()) return;
  add_reported(curves, views, {{"fit.recv", "distance 1"}, {"fit.recv_far", "distance 24"}});
  views.chart("distance", std::move(curves));
}

// ---- many messages ----

void message_rates(const StudyViews& views) {
  const auto pairs = [](const Points&, const Factors& row) {
    return count_entry(std::floor(row.number("ranks") / 2));
  };
  const auto one = [](const Point&) { return 1.0; };
  const Factors part{{"part", "message_rate"}}, small = part.with({{"bytes", 8}}),
                                                large = part.with({{"bytes", 65536}});
  const std::vector<Factors> rows = combinations(views.points, {"ranks"}, part);
  views.table("message_rate.table",
              {{"pairs", pairs},
               {"8 B: messages", rate_of(small, "1/s", one, true)},
               {"times one pair", medians_ratio_of(small.with({{"ranks", 2}}), small)},
               {"64 KiB: bandwidth", rate_of(large, "B/s", bytes_of, true)},
               {"times one pair", medians_ratio_of(large.with({{"ranks", 2}}), large)}},
              rows);
  Curves curves{{"message", "B", true}, {"messages", "1/s", true}, {}};
  for (const Factors& row : rows) {
    const std::string number = text_of(pairs(views.points, row));
    add_curve(curves, curve_of(number + (number == "1" ? " pair" : " pairs"),
                               rate_of(row, "1/s", one, true), views.points,
                               combinations(views.points, {"bytes"}, row), "bytes"));
  }
  views.chart("message_rate", std::move(curves));
}

// ---- broadcast ----

constexpr std::pair<const char*, const char*> kBroadcasts[] = {
    {"row_broadcast", "row"}, {"column_broadcast", "column"}, {"broadcast", "all"}};

// How many ranks one of these broadcasts reaches.
int reached_by(const Factors& row) {
  const comm::GridShape shape = comm::fit_grid(static_cast<int>(row.number("ranks")));
  const std::string& part = row.word("part");
  return part == "row_broadcast"      ? shape.columns
         : part == "column_broadcast" ? shape.rows
                                      : shape.rows * shape.columns;
}

// Row, column and all ranks over the size, one chart for each way, as the report's figure.
void broadcasts_over_sizes(const StudyViews& views, int pus) {
  const double ranks = ranks_of_charts(views, "broadcast", pus);
  for (const std::string& way : views.points.words("way", {{"part", "broadcast"}})) {
    std::vector<Line> lines;
    for (const auto& [part, name] : kBroadcasts) {
      Factors factors{{"part", part}, {"ranks", ranks}, {"way", way}};
      lines.push_back({fmt::format("{} ({} ranks)", name, reached_by(factors)), factors});
    }
    Curves curves = times_over(views.points, "bytes", lines, "message", "B");
    const bool is_tree = way == "binomial";
    add_reported(
        curves, views,
        {{is_tree ? "broadcast.binomial.ranks8" : "broadcast.network.ranks8", "8 cells"},
         {is_tree ? "broadcast.binomial.ranks16" : "broadcast.network.ranks16", "16 cells"}});
    views.chart(is_tree ? "broadcast.tree" : "broadcast.direct", std::move(curves),
                {{"ranks", fmt::format("{:g}", ranks)}, {"way", title_of_way(way)}},
                "broadcast.sizes");
  }
}

void broadcast(const StudyViews& views, int pus) {
  const auto along = [](const Points&, const Factors& row) -> Entry {
    const auto found = std::ranges::find(kBroadcasts, row.word("part"),
                                         &std::pair<const char*, const char*>::first);
    return fmt::format("{} ({})", found->second, reached_by(row));
  };
  const auto theirs = [](const Factors& row) {
    return fmt::format("broadcast.{}.ranks{}",
                       row.word("way") == "binomial" ? "binomial" : "network", reached_by(row));
  };
  std::vector<Factors> rows = combinations(views.points, {"ranks", "part", "way"});
  std::erase_if(rows, [](const Factors& row) { return !row.word("part").ends_with("broadcast"); });
  views.table(
      "broadcast.table",
      with_sizes(
          views,
          {{"ranks", level_of("ranks")}, {"along", along}, {"way", word_of("way", title_of_way)}},
          {{"8 B", 8}, {"4 KiB", 4096}, {"64 KiB", 65536}}, false, theirs),
      rows);
  broadcasts_over_sizes(views, pus);
  std::vector<Line> lines;
  for (const Line& line : ways_of(views, "broadcast")) {
    for (const int bytes : {8, 4096})
      lines.push_back({line.name + ", " + show(bytes, "B"), line.factors.with({{"bytes", bytes}})});
  }
  chart_over_ranks(views, pus, "broadcast", lines);
}

// Where the machine of the report is simulated, "all" is what the report has as a tree.
void global(const StudyViews& views, int pus, bool is_simulated) {
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
    for (const auto& one : kFunctions) {
      const bool is_all = std::string_view(one.group) == "all";
      row.push_back(views.published(fmt::format("{}.{}.{}.ranks{}", one.part,
                                                is_all && is_simulated ? "tree" : one.way,
                                                one.group, side * side)));
    }
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
std::string crossing(const Points& points, const std::string& way, double ranks, bool is_exact) {
  std::optional<double> from;
  const Factors factors{{"part", "vector"}, {"ranks", ranks}};
  for (const Point* elements : points.where(factors.with({{"way", "elements"}}), "bytes")) {
    const double bytes = elements->number("bytes");
    const auto ratio =
        ratio_in_turn(elements, points.find(factors.with({{"way", way}, {"bytes", bytes}})));
    const bool is_sure = ratio && (is_exact || ratio->pairs >= core::kFewestForInterval);
    if (!is_sure || (is_exact ? ratio->value : ratio->interval.low) <= 1)
      from.reset();
    else if (!from)
      from = bytes / sizeof(double);
  }
  return fmt::format("{} with {:g} ranks", from ? fmt::format("{:g}", *from) : "no number", ranks);
}

void vectors(const StudyViews& views, int pus, bool is_exact) {
  const Factors elements{{"way", "elements"}}, vector{{"way", "vector"}};
  std::vector<std::string> by_vector, by_tree;
  for (const double ranks : views.points.numbers("ranks", {{"part", "vector"}})) {
    by_vector.push_back(crossing(views.points, "vector", ranks, is_exact));
    by_tree.push_back(crossing(views.points, "vector tree", ranks, is_exact));
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
  chart_over_sizes(views, "vector", pus, "elements", "", 1.0 / sizeof(double));
}

void gathering(const StudyViews& views, int pus) {
  std::vector<Factors> rows = combinations(views.points, {"ranks", "part", "way"});
  std::erase_if(rows, [](const Factors& row) {
    const std::string& part = row.word("part");
    return part != "gather" && part != "scatter";
  });
  const auto theirs = [](const Factors& row) {
    const std::string& way = row.word("way");
    return fmt::format("{}.{}{}", row.word("part"), way, way == "polling" ? ".ranks64" : "");
  };
  std::vector<Column> columns = with_sizes(
      views,
      {{"ranks", level_of("ranks")},
       {"operation", word_of("part")},
       {"way", word_of("way", title_of_way)}},
      {{"64 B per rank", 64}, {"8 KiB per rank", 8192}, {"64 KiB per rank", 65536}}, true, theirs);
  // The report has two lines of polling.
  columns.back().cell = [&views, first = columns.back().cell](const Points& points,
                                                              const Factors& row) {
    Entry entry = first(points, row);
    const auto many = reported_line(views, "gather.polling.ranks512");
    if (many && row.word("part") == "gather" && row.word("way") == "polling")
      entry.text += fmt::format("; 512 cells: {}", formula(many->t0_s, many->per_x_s));
    return entry;
  };
  views.table("gathering", columns, rows);
  chart_over_sizes(views, "gather", pus, "whole array", "B", 1,
                   {{"gather.fine", "fine"},
                    {"gather.block", "block"},
                    {"gather.polling.ranks64", "polling 64 cells"},
                    {"gather.polling.ranks512", "polling 512 cells"}});
  chart_over_sizes(views, "scatter", pus, "whole array", "B", 1, {{"scatter.fine", "fine"}});
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
  const Cell theirs = published_of(views.report, "barrier.messages.ranks{ranks}");
  const Cell network = published_of(views.report, "barrier.network.ranks{ranks}");
  columns.push_back({"AP1000: messages", theirs});
  columns.push_back({"its network", network});
  views.table("barrier.table", columns, combinations(views.points, {"ranks"}, part),
              {{"formula", log_formula(views.points.where(messages, "ranks"))}});
  chart_over_ranks(views, pus, "barrier", lines,
                   {{"AP1000 (1992), messages", theirs}, {"AP1000 (1992), its network", network}});
}

}  // namespace

std::vector<Distance> distances(std::span<const core::Pu> pus) {
  static constexpr const char* kWithin[] = {"core", "cache", "node", "package", "machine"};
  std::array<std::optional<std::array<unsigned, 2>>, std::size(kWithin)> first;
  for (std::size_t i = 0; i < pus.size(); ++i) {
    for (std::size_t k = i + 1; k < pus.size(); ++k) {
      const core::Pu &a = pus[i], &b = pus[k];
      const std::size_t within = a.core == b.core                           ? 0
                                 : a.last_level_cache == b.last_level_cache ? 1
                                 : a.numa_node == b.numa_node               ? 2
                                 : a.package == b.package                   ? 3
                                                                            : 4;
      if (!first[within]) first[within] = {a.os_index, b.os_index};
    }
  }
  std::vector<Distance> all;
  for (std::size_t i = 0; i < first.size(); ++i)
    if (first[i]) all.push_back({kWithin[i], *first[i]});
  return all;
}

void add_views(Record& record, const Points& points, const RanksOfStudy& ranks) {
  const StudyViews views{record,
                         points,
                         published("ap1000"),
                         {{"transport", ranks.transport}, {"about_pus", about_pus(ranks.pus)}}};
  ping_pong(views);
  fits(views);
  ping_pong_charts(views);
  distance(views, ranks.distances);
  message_rates(views);
  broadcast(views, ranks.pus);
  global(views, ranks.pus, ranks.is_simulated);
  vectors(views, ranks.pus, ranks.is_simulated);
  gathering(views, ranks.pus);
  barrier(views, ranks.pus);
  for (Result& result : record.results) result.details[detail::kHeldFixed] = ranks.transport;
}

}  // namespace tabane::lab::ap1000
