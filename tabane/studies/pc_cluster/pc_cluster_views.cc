// The tables and charts of the study pc-cluster, with the report's figures.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "tabane/lab/record/published.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/study/message_views.h"
#include "tabane/studies/pc_cluster/pc_cluster.h"

namespace tabane::lab::pc_cluster {
namespace {

std::string title_of_way(const std::string& way) {
  static const std::map<std::string, std::string> titles = {
      {"tcp", "TCP"},     {"unix socket", "Unix socket"}, {"mpi", "MPI"},
      {"dgemm", "DGEMM"}, {"exact", "tabane's, exact"},   {"loop", "loop of MPFR"}};
  const auto found = titles.find(way);
  return found == titles.end() ? way : found->second;
}

std::vector<Line> ways_of(const StudyViews& views, const char* part) {
  return lines_by(views.points, "way", {{"part", part}}, title_of_way);
}

// ---- matrix products ----

double multiplications(const Point& point) { return std::pow(point.number("n"), 3); }
double operations(const Point& point) { return 2 * multiplications(point); }

void products(const StudyViews& views) {
  const Factors dgemm{{"way", "dgemm"}}, loop{{"way", "triple loop"}};
  views.table("products",
              {{"n", level_of("n")},
               {"DGEMM", time_of(dgemm, true)},
               {"rate", rate_of(dgemm, "FLOP/s", operations)},
               {"report's count", rate_of(dgemm, "FLOP/s", multiplications)},
               {"triple loop: rate", rate_of(loop, "FLOP/s", operations)},
               {"report's count", rate_of(loop, "FLOP/s", multiplications)},
               {"triple loop / DGEMM", ratio_of(loop, dgemm)}},
              combinations(views.points, {"n"}, dgemm.with({{"part", "product"}})));
  Curves curves{{"n", "", true}, {"rate", "FLOP/s", true}, {}};
  for (const Line& line : ways_of(views, "product"))
    add_curve(curves, curve_of(line.name, rate_of({}, "FLOP/s", operations, true), views.points,
                               combinations(views.points, {"n"}, line.factors), "n"));
  views.chart("product", std::move(curves));
}

// ---- multiple precision ----

void multiple_precision(const StudyViews& views) {
  const auto cores = views.points.numbers("cores", {{"part", "mpfr"}});
  if (cores.empty()) return;
  const Factors all{{"part", "mpfr"}, {"cores", cores.back()}};
  std::vector<Column> columns = {{"bits", level_of("bits")}};
  std::vector<Line> lines;
  for (const MpfrOperation& operation : mpfr_operations()) {
    lines.push_back({operation.title, all.with({{"operation", operation.name}})});
    columns.push_back({operation.title, time_of(lines.back().factors)});
  }
  const Factors product = lines[0].factors;
  columns.push_back({"x y: one core / all", ratio_of(product.with({{"cores", 1}}), product)});
  views.table("mpfr.table", columns, combinations(views.points, {"bits"}, all),
              {{"cores", fmt::format("{:g} {}", cores.back(),
                                     cores.back() == 1 ? "core works" : "cores work")}});
  views.chart("mpfr", times_over(views.points, "bits", lines, "bits"));
}

// ---- messages ----

// part: "inside" or "between".
void messages(const StudyViews& views, const std::string& part) {
  const Caption where = views.caption(part);
  const CaptionValues values = {
      {"where", where.title}, {"how", where.note}, {"fit_note", kFitNote}};
  std::vector<Column> columns = {{"message", level_of("bytes", "B")}};
  Rows fits = fit_rows("way");
  const std::vector<Line> ways = ways_of(views, part.c_str());
  for (const Line& way : ways) {
    const std::string name = fmt::format("{}.{}", part, name_part(way.factors.word("way")));
    const PointList points = views.points.where(way.factors, "bytes");
    columns.push_back({way.name, time_of(way.factors, true)});
    columns.push_back({"bandwidth", rate_of(way.factors, "B/s", bytes_of)});
    add_fit(views.record, name, way.name, points, fits);
    double best = 0;
    for (const Point* point : points) best = std::max(best, bytes_of(*point) / point->median());
    add_result(views.record, name + ".bandwidth",
               fmt::format("bandwidth of messages {} at the best size, {}", where.title, way.name),
               {best, "B/s"}, Better::higher);
  }
  const auto is_shown = [](double bytes) {
    return is_power_of_two(bytes, 4) || is_power_of_two(bytes, 22);
  };
  views.table("messages", columns,
              only(combinations(views.points, {"bytes"}, {{"part", part}}), "bytes", is_shown),
              values);
  views.table("fits", std::move(fits), values);
  Curves times = half_round_trips(views.points, ways);
  views.chart(part + ".time", times, values, "time");
  views.chart(part + ".bandwidth", as_rate(std::move(times), {"bandwidth", "B/s", true}), values,
              "bandwidth");
}

// Whether a link keeps its rate: all that was measured of one size, in the order of time.
void watch(const StudyViews& views) {
  Rows rows{{"way", "runs", "median rate", "5 % quantile", "95 % quantile", "far below", "verdict"},
            {}};
  std::vector<Curve> curves;
  for (const Line& way : ways_of(views, "watch")) {
    const Point* point = views.points.find(way.factors);
    Curve curve{.name = way.name};
    for (const double seconds : point->samples) {
      curve.x.push_back(static_cast<double>(curve.x.size()));
      curve.y.push_back(point->number("bytes") / seconds);
    }
    std::vector<double> below = curve.y;
    for (double& rate : below) rate = -rate;
    curve.flagged = unusually_high(below);
    const auto far_below = static_cast<double>(std::ranges::count(curve.flagged, true));
    const double middle = core::median(curve.y);
    const double low = core::quantile(curve.y, 0.05), high = core::quantile(curve.y, 0.95);
    const auto runs = static_cast<double>(curve.y.size());
    const bool stable = low > 0.9 * middle && far_below < 0.05 * runs;
    rows.rows.push_back({way.name,
                         count_entry(runs),
                         {middle, "B/s"},
                         {low, "B/s"},
                         {high, "B/s"},
                         {far_below / runs, "share"},
                         stable ? "stable" : "unstable"});
    add_result(views.record,
               fmt::format("watch.{}.low_of_median", name_part(way.factors.word("way"))),
               fmt::format("rate that 5 % of the runs stay below, over the median, {}", way.name),
               {low / middle, "ratio"}, Better::higher);
    curves.push_back(std::move(curve));
  }
  const CaptionValues values = {{"size", show(static_cast<double>(kWatchedBytes), "B")}};
  views.table("watch.table", std::move(rows), values);
  views.order_chart("watch", {"rate", "B/s", false}, std::move(curves), values);
}

// CPU time of both ranks for a byte.
void cpu_time(const StudyViews& views) {
  Rows rows{{"messages", "way", "CPU time a byte", "cores busy"}, {}};
  for (const char* where : {"inside", "between"}) {
    for (const Line& way : ways_of(views, fmt::format("cpu {}", where).c_str())) {
      const Point& point = *views.points.find(way.factors);
      const double a_byte = point.median();
      Entry busy;
      if (const auto trip = median_beside(point, kHalfRoundTrip))
        busy = {a_byte * static_cast<double>(kWatchedBytes) / *trip, "ratio"};
      rows.rows.push_back({views.caption(where).title, way.name, {1e9 * a_byte, "ns"}, busy});
    }
  }
  views.table("cpu", std::move(rows), {{"size", show(static_cast<double>(kWatchedBytes), "B")}});
}

// ---- the parallel product of multiple precision ----

// part: "parallel", inside the node, or "parallel between".
void parallel(const StudyViews& views, const std::string& part_name, const std::string& view) {
  const Factors part{{"part", part_name}};
  const auto sizes = views.points.numbers("n", part);
  if (sizes.empty()) return;
  const Factors one{{"ranks", 1}}, exact{{"way", "exact"}}, loop{{"way", "loop"}};
  std::vector<Line> lines;
  Curves speedups{{"bits", "", true}, {"speed-up over one rank", "ratio", false}, {}};
  for (const Line& way : ways_of(views, part_name.c_str())) {
    for (const double ranks : views.points.numbers("ranks", way.factors)) {
      const Factors on_ranks = way.factors.with({{"ranks", ranks}});
      const std::string name =
          fmt::format("{}, {:g} {}", way.name, ranks, ranks == 1 ? "rank" : "ranks");
      lines.push_back({name, on_ranks});
      if (ranks == 1) continue;
      add_curve(speedups, curve_of(name, ratio_of(one, on_ranks), views.points,
                                   combinations(views.points, {"way", "bits"}, on_ranks), "bits"));
    }
  }
  const CaptionValues values = {
      {"n", fmt::format("{:g}", sizes.front())},
      {"where", part_name == "parallel" ? "inside the node" : "between two hosts"}};
  views.table("parallel.table",
              {{"bits", level_of("bits")},
               {"ranks", level_of("ranks")},
               {"tabane's, exact", time_of(exact, true)},
               {"speed-up", ratio_of(exact.with(one), exact)},
               {"loop of MPFR", time_of(loop, true)},
               {"speed-up", ratio_of(loop.with(one), loop)},
               {"loop / exact", ratio_of(loop, exact)}},
              combinations(views.points, {"bits", "ranks"}, part), values);
  views.chart(view, times_over(views.points, "bits", lines, "bits"), values, "parallel");
  views.chart(view + ".speedup", std::move(speedups), values, "parallel.speedup");
}

// ---- the report's machines ----

constexpr const char* kMachines[] = {"athlon-64-x2", "pentium-d", "pentium-4", "xeon"};
constexpr std::size_t kPentium4 = 2;

void beside_the_report(const StudyViews& views) {
  std::vector<const Record*> machines;
  std::vector<std::string> heads = {"figure", "here"};
  for (const char* name : kMachines) {
    machines.push_back(&published(fmt::format("pc-cluster-{}", name)));
    heads.push_back(machines.back()->machine.at("name").text());
  }
  heads.emplace_back("here / Pentium 4");
  Bars ratios{.unit = "ratio", .bars = {}, .reference = 1.0, .clustered = true};
  const std::pair<const char*, const char*> figures[] = {
      {"memcpy", "memcpy"},
      {"pc_cluster.inside.mpi.bandwidth", "MPI inside a node"},
      {"pc_cluster.between.tcp.bandwidth", "TCP between two nodes"},
      {"pc_cluster.between.mpi.bandwidth", "MPI between two nodes"},
      {"pc_cluster.multiply_of_pentium_4.least", "MPFR x y, least"},
      {"pc_cluster.multiply_of_pentium_4.greatest", "MPFR x y, most"},
      {"pc_cluster.divide_of_pentium_4.least", "MPFR x / y, least"},
      {"pc_cluster.divide_of_pentium_4.greatest", "MPFR x / y, most"}};
  views.table(
      "beside", rows_of(heads, figures, [&](const auto& figure) {
        const auto& [name, title] = figure;
        std::vector<Entry> row = {title, published_entry(views.record, name)};
        for (const Record* machine : machines) row.push_back(published_entry(*machine, name));
        const auto base = row[2 + kPentium4].value;
        const auto ratio = [&](const Entry& entry) {
          return base && entry.value ? std::optional(*entry.value / *base) : std::nullopt;
        };
        for (std::size_t i = 1; base && i < row.size(); ++i)
          if (row[i].value)
            ratios.bars.push_back({.group = title, .label = heads[i], .value = ratio(row[i])});
        row.emplace_back(ratio(row[1]), "ratio");
        return row;
      }));
  views.chart("ratios", std::move(ratios));
  if (const auto* kinds = find_content<Rows>(views.report, "pc-cluster.machines"))
    views.table("machines", *kinds,
                {{"note", views.report.find_view("pc-cluster.machines")->note}});
}

}  // namespace

void add_views(Record& record, const Points& points) {
  const StudyViews views{record, points, published("pc-cluster")};
  // The survey's chart of memcpy comes third.
  std::vector<View> copying = std::exchange(record.views, {});
  products(views);
  multiple_precision(views);
  for (View& view : copying) record.views.push_back(std::move(view));
  for (const char* part : {"inside", "between"}) messages(views, part);
  watch(views);
  cpu_time(views);
  parallel(views, "parallel", "parallel");
  parallel(views, "parallel between", "parallel.between");
  beside_the_report(views);
}

}  // namespace tabane::lab::pc_cluster
