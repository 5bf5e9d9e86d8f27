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

struct Findings {
  Record& record;
  const Points& points;
  const Record& report = published("pc-cluster");

  // With the ways that were measured.
  std::vector<std::string> ways_of(const char* part) const {
    return points.words("way", {{"part", part}});
  }
  std::vector<Line> lines_of(const char* part) const {
    std::vector<Line> lines;
    for (const std::string& way : ways_of(part))
      lines.push_back({title_of_way(way), {{"part", part}, {"way", way}}});
    return lines;
  }
};

// ---- matrix products ----

double multiplications(const Point& point) { return std::pow(point.number("n"), 3); }
double operations(const Point& point) { return 2 * multiplications(point); }

void products(const Findings& data) {
  const Factors dgemm{{"way", "dgemm"}}, loop{{"way", "triple loop"}};
  add_table(
      data.record, "Square matrix product on one core",
      rows_of({{"n", level_of("n")},
               {"DGEMM", time_of(dgemm, true)},
               {"rate", rate_of(dgemm, "FLOP/s", operations)},
               {"report's count", rate_of(dgemm, "FLOP/s", multiplications)},
               {"triple loop: rate", rate_of(loop, "FLOP/s", operations)},
               {"report's count", rate_of(loop, "FLOP/s", multiplications)},
               {"triple loop / DGEMM", ratio_of(loop, dgemm)}},
              data.points, combinations(data.points, {"n"}, dgemm.with({{"part", "product"}}))),
      "A is random numbers times the square root of 2, B times that of 3. DGEMM is that of "
      "OpenBLAS. The usual count is 2 n³ operations; the report counts multiplications "
      "alone. The triple loop reads B column by column, and collapses where the matrices "
      "leave a cache; of large matrices some rows are timed, since all take the same.");
  Curves curves{{"n", "", true}, {"rate", "FLOP/s", true}, {}};
  for (const Line& line : data.lines_of("product"))
    add_curve(curves, rate_over(line.name, data.points.where(line.factors, "n"), "n", operations));
  add_chart(data.record, "product", "Square matrix product on one core: rate over n, usual count",
            "A library that blocks for the caches, and the loop as one writes it down.",
            std::move(curves));
}

// ---- multiple precision ----

void multiple_precision(const Findings& data) {
  const auto cores = data.points.numbers("cores", {{"part", "mpfr"}});
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
  add_table(data.record, "Multiple precision: time of an operation of MPFR, all cores together",
            rows_of(columns, data.points, combinations(data.points, {"bits"}, all)),
            fmt::format("x is the square root of 3 less 1, y that of 5. {:g} {} at once; the time "
                        "is divided by their number. The report has, times as fast as its Pentium "
                        "4 with 32-bit limbs: Athlon 64 X2 2.5 to 4.5, Pentium D 1.2 to 3 "
                        "(multiplication).",
                        cores.back(), cores.back() == 1 ? "core works" : "cores work"));
  add_chart(data.record, "mpfr", "MPFR: time of an operation over the precision, all cores",
            "Seconds of an operation over the number of cores that work at once.",
            times_over(data.points, "bits", lines, "bits"));
}

// ---- messages ----

void messages(const Findings& data, const char* part, const std::string& where,
              const std::string& note) {
  const auto bytes_of = [](const Point& point) { return point.number("bytes"); };
  std::vector<Column> columns = {{"message", level_of("bytes", "B")}};
  Rows fits = fit_rows("way");
  for (const Line& line : data.lines_of(part)) {
    const std::string name =
        fmt::format("{}.{}", part, name_part(line.factors.find("way")->word()));
    const PointList points = data.points.where(line.factors, "bytes");
    columns.push_back({line.name, time_of(line.factors, true)});
    columns.push_back({"bandwidth", rate_of(line.factors, "B/s", bytes_of)});
    add_fit(data.record, name, line.name, points, fits);
    const Curve rates = rate_over(line.name, points, "bytes", bytes_of);
    add_result(data.record, name + ".bandwidth",
               fmt::format("bandwidth of messages {} at the best size, {}", where, line.name),
               {*std::ranges::max_element(rates.y), "B/s"}, Better::higher);
  }
  std::vector<Factors> sizes = combinations(data.points, {"bytes"}, {{"part", part}});
  std::erase_if(sizes, [](const Factors& size) {
    const double power = std::log2(size.find("bytes")->number());
    return power != std::floor(power) || (static_cast<int>(power) % 4 != 0 && power != 22);
  });
  add_table(data.record, fmt::format("Messages {}: half a round trip, bandwidth", where),
            rows_of(columns, data.points, sizes), note);
  add_table(data.record, fmt::format("Messages {}: the lines t0 + n / r_inf through them", where),
            std::move(fits), kFitNote);
  Curves times = half_round_trips(data.points, data.lines_of(part));
  add_chart(data.record, fmt::format("{}.time", part),
            fmt::format("Messages {}: time over size", where),
            "Points are medians with their 95 % intervals, lines the fits t0 + n / r_inf.", times);
  add_chart(data.record, fmt::format("{}.bandwidth", part),
            fmt::format("Messages {}: bandwidth over size", where), "The same as bandwidth.",
            as_rate(std::move(times), {"bandwidth", "B/s", true}));
}

// Whether a link keeps its rate: all that was measured of one size, in the order of time.
void watch(const Findings& data) {
  Rows rows{{"way", "runs", "median rate", "5 % quantile", "95 % quantile", "far below", "verdict"},
            {}};
  std::vector<Curve> curves;
  for (const std::string& way : data.ways_of("watch")) {
    const Point* point = data.points.find({{"part", "watch"}, {"way", way}});
    Curve curve{.name = title_of_way(way)};
    for (const double seconds : point->samples) {
      curve.x.push_back(static_cast<double>(curve.x.size()));
      curve.y.push_back(point->number("bytes") / seconds);
    }
    const double middle = core::median(curve.y);
    curve.flagged.assign(curve.y.size(), false);
    double far_below = 0;
    for (const std::size_t i : core::outliers_far_fence(curve.y)) {
      curve.flagged[i] = curve.y[i] < middle;
      far_below += curve.flagged[i];
    }
    const double low = core::quantile(curve.y, 0.05), high = core::quantile(curve.y, 0.95);
    const auto runs = static_cast<double>(curve.y.size());
    const bool stable = low > 0.9 * middle && far_below < 0.05 * runs;
    rows.rows.push_back({title_of_way(way),
                         count_entry(runs),
                         {middle, "B/s"},
                         {low, "B/s"},
                         {high, "B/s"},
                         {far_below / runs, "share"},
                         stable ? "stable" : "unstable"});
    add_result(
        data.record, fmt::format("watch.{}.low_of_median", name_part(way)),
        fmt::format("rate that 5 % of the runs stay below, over the median, {}", title_of_way(way)),
        {low / middle, "ratio"}, Better::higher);
    curves.push_back(std::move(curve));
  }
  const std::string size = show(static_cast<double>(kWatchedBytes), "B");
  add_table(data.record, "Between two hosts: whether the rate stays", std::move(rows),
            fmt::format("Messages of {} to and fro. Far below: by more than 3 interquartile "
                        "ranges. Stable: 95 % of the runs are within 10 % of the median or above, "
                        "and fewer than 5 % far below. The rates of one of the report's machines "
                        "were visibly unstable.",
                        size));
  add_order_chart(data.record, "watch",
                  fmt::format("Messages of {} between two hosts, over time", size),
                  "All runs in the order of time. Larger points are far below the others.",
                  {"rate", "B/s", false}, std::move(curves));
}

// ---- the parallel product of multiple precision ----

void parallel(const Findings& data) {
  const Factors part{{"part", "parallel"}};
  std::vector<Line> lines;
  Curves speedups{{"bits", "", true}, {"speed-up over one rank", "ratio", false}, {}};
  for (const double ranks : data.points.numbers("ranks", part)) {
    const Factors on_ranks = part.with({{"ranks", ranks}});
    const std::string name = fmt::format("{:g} {}", ranks, ranks == 1 ? "rank" : "ranks");
    lines.push_back({name, on_ranks});
    if (ranks > 1)
      add_curve(speedups, ratio_curve(name, data.points.where(part.with({{"ranks", 1}}), "bits"),
                                      data.points.where(on_ranks, "bits"), "bits"));
  }
  const auto sizes = data.points.numbers("n", part);
  if (sizes.empty()) return;
  add_table(
      data.record,
      fmt::format("Parallel multiple-precision product of {0:g} x {0:g} matrices", sizes.front()),
      rows_of({{"bits", level_of("bits")},
               {"ranks", level_of("ranks")},
               {"time", time_of({}, true)},
               {"multiply-adds", rate_of({}, "/s", multiplications)},
               {"speed-up over one rank", ratio_of({{"ranks", 1}}, {})}},
              data.points, combinations(data.points, {"bits", "ranks"}, part)),
      "Every element is exact and rounded once. The report's product is a loop of MPFR's "
      "operations on processes of MPI: with many bits its 64-bit machines are at least "
      "twice as fast as its Pentium 4, with few bits communication and overhead eat the "
      "gain.");
  add_chart(data.record, "parallel", "Multiple-precision product on ranks: time over the precision",
            "One curve for each number of ranks.", times_over(data.points, "bits", lines, "bits"));
  add_chart(data.record, "parallel.speedup",
            "Multiple-precision product on ranks: speed-up over one rank", "Of runs taken in turn.",
            std::move(speedups));
}

// ---- the report's machines ----

void beside_the_report(const Findings& data) {
  const auto row_of = [&](const char* name) -> std::vector<Entry> {
    const Result* ours = data.record.find(name);
    const Result* best = data.report.find(name);
    if (ours == nullptr || !ours->value || best == nullptr) return {};
    return {best->what.substr(0, best->what.find(", the ")),
            {*ours->value, ours->unit, ours->interval},
            {best->number_detail("lowest_of_the_machines"), best->unit},
            {best->value, best->unit},
            {*ours->value / *best->value, "ratio"}};
  };
  add_table(
      data.record, "This machine beside the report's four",
      rows_of({"figure", "here", "least of the four", "best of the four", "here / best"},
              std::vector{"memcpy", "pc_cluster.inside.mpi.bandwidth",
                          "pc_cluster.between.tcp.bandwidth", "pc_cluster.between.mpi.bandwidth"},
              row_of),
      "More machines, and all curves in one chart: tabane compare study.json other.json "
      "pc-cluster -o DIR, with --baseline for the one that the ratios are to.");
  if (const auto* machines = find_content<Rows>(data.report, "pc-cluster.machines"))
    add_table(data.record, "The report's machines, as far as it tells them apart", *machines,
              data.report.find_view("pc-cluster.machines")->note);
}

}  // namespace

void add_views(Record& record, const Points& points) {
  const Findings data{record, points};
  // The survey's chart of memcpy comes third.
  std::vector<View> copying = std::exchange(record.views, {});
  products(data);
  multiple_precision(data);
  for (View& view : copying) record.views.push_back(std::move(view));
  messages(data, "inside", "inside the node",
           "Two ranks send a message to and fro, of NetPIPE's sizes: powers of two and three "
           "bytes less and more. TCP goes over the loopback device; shm is tabane's own shared "
           "memory.");
  messages(data, "between", "between two hosts",
           "Two ranks, one on each host, of an MPI launcher.");
  watch(data);
  parallel(data);
  beside_the_report(data);
}

}  // namespace tabane::lab::pc_cluster
