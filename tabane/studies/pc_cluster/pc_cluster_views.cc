// The tables and charts of the study pc-cluster, with the report's figures.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tabane/lab/record/published.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/study/message_views.h"
#include "tabane/studies/pc_cluster/pc_cluster.h"

namespace tabane::lab::pc_cluster {
namespace {

std::string title_of_way(const std::string& way) {
  if (way == "tcp") return "TCP";
  if (way == "unix socket") return "Unix socket";
  if (way == "mpi") return "MPI";
  if (way == "dgemm") return "DGEMM";
  return way;
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

// ---- the parallel product of multiple precision ----

void parallel(const StudyViews& views) {
  const Factors part{{"part", "parallel"}};
  const auto sizes = views.points.numbers("n", part);
  if (sizes.empty()) return;
  const std::vector<Factors> bits = combinations(views.points, {"bits"}, part);
  std::vector<Line> lines;
  Curves speedups{{"bits", "", true}, {"speed-up over one rank", "ratio", false}, {}};
  for (const double ranks : views.points.numbers("ranks", part)) {
    const Factors on_ranks{{"ranks", ranks}};
    const std::string name = fmt::format("{:g} {}", ranks, ranks == 1 ? "rank" : "ranks");
    lines.push_back({name, part.with(on_ranks)});
    if (ranks > 1)
      add_curve(speedups,
                curve_of(name, ratio_of({{"ranks", 1}}, on_ranks), views.points, bits, "bits"));
  }
  views.table("parallel.table",
              {{"bits", level_of("bits")},
               {"ranks", level_of("ranks")},
               {"time", time_of({}, true)},
               {"multiply-adds", rate_of({}, "/s", multiplications)},
               {"speed-up over one rank", ratio_of({{"ranks", 1}}, {})}},
              combinations(views.points, {"bits", "ranks"}, part),
              {{"n", fmt::format("{:g}", sizes.front())}});
  views.chart("parallel", times_over(views.points, "bits", lines, "bits"));
  views.chart("parallel.speedup", std::move(speedups));
}

// ---- the report's machines ----

void beside_the_report(const StudyViews& views) {
  const auto row_of = [&](const char* name) -> std::vector<Entry> {
    const Result* ours = views.record.find(name);
    const Result* best = views.report.find(name);
    if (ours == nullptr || !ours->value || best == nullptr) return {};
    return {best->what.substr(0, best->what.find(", the ")),
            {*ours->value, ours->unit, ours->interval},
            {best->number_detail("lowest_of_the_machines"), best->unit},
            {best->value, best->unit},
            {*ours->value / *best->value, "ratio"}};
  };
  views.table(
      "beside",
      rows_of({"figure", "here", "least of the four", "best of the four", "here / best"},
              std::vector{"memcpy", "pc_cluster.inside.mpi.bandwidth",
                          "pc_cluster.between.tcp.bandwidth", "pc_cluster.between.mpi.bandwidth"},
              row_of));
  if (const auto* machines = find_content<Rows>(views.report, "pc-cluster.machines"))
    views.table("machines", *machines,
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
  parallel(views);
  beside_the_report(views);
}

}  // namespace tabane::lab::pc_cluster
