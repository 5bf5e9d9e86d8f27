// The tables and charts of the study pc-cluster, with the report's figures beside.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tabane/lab/probes/mpfr_operations.h"
#include "tabane/lab/record/published.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/studies/message_views.h"
#include "tabane/lab/studies/pc_cluster.h"

namespace tabane::lab::pc_cluster {
namespace {

std::string title_of_way(const std::string& way) {
  if (way == "tcp") return "TCP";
  if (way == "unix socket") return "Unix socket";
  if (way == "mpi") return "MPI";
  if (way == "dgemm") return "DGEMM";
  return way;
}

struct Data {
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

double multiplications(double n) { return n * n * n; }
double operations(double n) { return 2 * multiplications(n); }

void products(const Data& data) {
  const auto row_of = [&](const Point* dgemm) -> std::vector<Entry> {
    const double n = dgemm->number("n");
    const Point* loop = data.points.find(dgemm->factors.with({{"way", "triple loop"}}));
    const auto rate = [&](const Point* point, double amount) {
      return point == nullptr ? Entry() : Entry(amount / point->median(), "FLOP/s");
    };
    return {count_entry(n),
            median_entry(dgemm, true),
            rate(dgemm, operations(n)),
            rate(dgemm, multiplications(n)),
            rate(loop, operations(n)),
            rate(loop, multiplications(n)),
            ratio_entry(loop, dgemm)};
  };
  add_table(data.record, "Square matrix product on one core",
            rows_of({"n", "DGEMM", "rate", "report's count", "triple loop: rate", "report's count",
                     "triple loop / DGEMM"},
                    data.points.where({{"part", "product"}, {"way", "dgemm"}}, "n"), row_of),
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

void multiple_precision(const Data& data) {
  const auto cores = data.points.numbers("cores", {{"part", "mpfr"}});
  if (cores.empty()) return;
  const Factors all{{"part", "mpfr"}, {"cores", cores.back()}};
  Rows rows{{"bits"}, {}};
  std::vector<Line> lines;
  for (const MpfrOperation& operation : mpfr_operations()) {
    rows.columns.emplace_back(operation.title);
    lines.push_back({operation.title, all.with({{"operation", operation.name}})});
  }
  rows.columns.emplace_back("x y: one core / all");
  for (const double bits : data.points.numbers("bits", all)) {
    std::vector<Entry> row{count_entry(bits)};
    for (const Line& line : lines)
      row.push_back(median_entry(data.points.find(line.factors.with({{"bits", bits}}))));
    const Factors product = lines[0].factors.with({{"bits", bits}});
    row.push_back(
        ratio_entry(data.points.find(product.with({{"cores", 1}})), data.points.find(product)));
    rows.rows.push_back(std::move(row));
  }
  add_table(data.record, "Multiple precision: time of an operation of MPFR, all cores together",
            std::move(rows),
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

void messages(const Data& data, const char* part, const std::string& where,
              const std::string& note) {
  const std::vector<std::string> ways = data.ways_of(part);
  Rows rows{{"message"}, {}};
  Rows fits = fit_rows("way");
  for (const std::string& way : ways) {
    const PointList points = data.points.where({{"part", part}, {"way", way}}, "bytes");
    rows.columns.insert(rows.columns.end(), {title_of_way(way), "bandwidth"});
    add_fit(data.record, fmt::format("{}.{}", part, name_part(way)), title_of_way(way), points,
            fits);
    double best = 0;
    for (const Point* point : points)
      best = std::max(best, point->number("bytes") / point->median());
    add_result(
        data.record, fmt::format("{}.{}.bandwidth", part, name_part(way)),
        fmt::format("bandwidth of messages {} at the best size, {}", where, title_of_way(way)),
        {best, "B/s"}, Better::higher);
  }
  for (const double bytes : data.points.numbers("bytes", {{"part", part}})) {
    const double power = std::log2(bytes);
    if (power != std::floor(power) || (static_cast<int>(power) % 4 != 0 && power != 22)) continue;
    std::vector<Entry> row{show(bytes, "B")};
    for (const std::string& way : ways) {
      const Point* point = data.points.find({{"part", part}, {"way", way}, {"bytes", bytes}});
      row.push_back(median_entry(point, true));
      row.push_back(point == nullptr ? Entry() : Entry(bytes / point->median(), "B/s"));
    }
    rows.rows.push_back(std::move(row));
  }
  add_table(data.record, fmt::format("Messages {}: half a round trip, bandwidth", where),
            std::move(rows), note);
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
void watch(const Data& data) {
  Rows rows{{"way", "runs", "median rate", "5 % quantile", "95 % quantile", "far below", "verdict"},
            {}};
  Curves curves{{"run", "", false}, {"rate", "B/s", false}, {}};
  for (const std::string& way : data.ways_of("watch")) {
    const Point* point = data.points.find({{"part", "watch"}, {"way", way}});
    Curve curve{.name = title_of_way(way), .joined = false};
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
    add_curve(curves, std::move(curve));
  }
  const std::string size = show(static_cast<double>(kWatchedBytes), "B");
  add_table(data.record, "Between two hosts: whether the rate stays", std::move(rows),
            fmt::format("Messages of {} to and fro. Far below: by more than 3 interquartile "
                        "ranges. Stable: 95 % of the runs are within 10 % of the median or above, "
                        "and fewer than 5 % far below. The rates of one of the report's machines "
                        "were visibly unstable.",
                        size));
  add_chart(data.record, "watch", fmt::format("Messages of {} between two hosts, over time", size),
            "All runs in the order of time. Larger points are far below the others.",
            std::move(curves));
  // Run 7 here has nothing to do with run 7 elsewhere.
  if (View* view = data.record.find_view("pc_cluster.watch"))
    view->details[detail::kHeldFixed] = data.record.started;
}

// ---- the parallel product of multiple precision ----

void parallel(const Data& data) {
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
  const auto row_of = [&](const Point* point) -> std::vector<Entry> {
    const double bits = point->number("bits"), n = point->number("n");
    return {count_entry(bits),
            count_entry(point->number("ranks")),
            median_entry(point, true),
            {multiplications(n) / point->median(), "/s"},
            ratio_entry(data.points.find(point->factors.with({{"ranks", 1}})), point)};
  };
  const auto sizes = data.points.numbers("n", part);
  if (sizes.empty()) return;
  add_table(
      data.record,
      fmt::format("Parallel multiple-precision product of {0:g} x {0:g} matrices", sizes.front()),
      rows_of({"bits", "ranks", "time", "multiply-adds", "speed-up over one rank"},
              data.points.where(part, "bits"), row_of),
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

void beside_the_report(const Data& data) {
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
  const Data data{record, points};
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
  tell_of_few_runs(record, points);
}

}  // namespace tabane::lab::pc_cluster
