// The tables and charts of the study process-thread, with the report's figures.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tabane/core/fit.h"
#include "tabane/core/units.h"
#include "tabane/lab/record/published.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/study/study.h"
#include "tabane/studies/process_thread/process_thread.h"

namespace tabane::lab::process_thread {

std::vector<Column> speedup_columns(const Pick& one, const std::vector<WorkerLine>& lines,
                                    Entry (*label)(const Point& team)) {
  std::vector<Column> columns = {{"workers", level_of("workers")}};
  for (const WorkerLine& line : lines) {
    columns.push_back({line.head, time_of(line.pick)});
    columns.push_back({"speed-up", ratio_of(one, line.pick, false)});  // charts show intervals
  }
  columns.push_back({"P x T", shown_of(lines.back().pick, label)});
  return columns;
}

Curves speedup_curves(const Points& points, const Pick& one, const std::vector<WorkerLine>& lines,
                      const std::vector<Factors>& rows) {
  Curves curves{.x = {"workers", ""}, .y = {"speed-up", "ratio"}, .series = {}, .ideal = true};
  for (const WorkerLine& line : lines)
    add_curve(curves, curve_of(line.name, ratio_of(one, line.pick), points, rows, "workers"));
  return curves;
}

void add_gain(const StudyViews& views, const std::string& workload, const std::string& allocator,
              const char* team, const Entry& gain) {
  add_result(views.record, fmt::format("gain.{}.{}", workload, allocator),
             fmt::format("time of threads only over that of {}, one worker per PU", team), gain,
             Better::higher);
}

double seconds_per_request(const Point& point) {
  return point.median() / point.beside.at("requests").front();
}

namespace {

std::string title_of(const std::string& workload) { return find_workload(workload).title; }

Entry label(const Point& point) {
  return fmt::format("{} x {}", point.text("processes"), point.text("threads"));
}

// The point with these factors, whatever the row has.
Pick always(const Factors& wanted) {
  return Pick([wanted](const Points& points, const Factors&) { return points.find(wanted); });
}

Cell time_per_request(Pick pick) {
  return shown_of(std::move(pick),
                  [](const Point& point) { return Entry(seconds_per_request(point), "s"); });
}

// The fastest of the points with the row's levels of these factors.
Pick fastest_with(std::vector<const char*> names, std::function<bool(const Point&)> fits = {}) {
  return Pick([=](const Points& points, const Factors& row) {
    Factors wanted;
    for (const char* name : names) wanted.set(name, *row.find(name));
    PointList all = points.where(wanted);
    if (fits) std::erase_if(all, [&](const Point* point) { return !fits(*point); });
    return fastest(all);
  });
}

// "threads 1.25 at 2; processes 1.98 at 2": where the measured curves end.
std::string ends_of(const Curves& curves) {
  const std::string x_unit = curves.x.unit.empty() ? "1" : curves.x.unit;
  std::vector<std::string> ends;
  for (const Curve& curve : curves.series) {
    if (curve.role == Role::measured)
      ends.push_back(fmt::format("{} {} at {}", curve.name,
                                 text_of({curve.y.back(), curves.y.unit}),
                                 text_of({curve.x.back(), x_unit})));
  }
  return fmt::format("{}", fmt::join(ends, "; "));
}

// ---- forks ----

// Of all sizes.
Factors forks_of(const char* way, std::size_t piece, const char* memory = "as allocated") {
  return {{"part", "forks"}, {"way", way}, {"piece", kPieces[piece]}, {"memory", memory}};
}

// What the line through the larger sizes says for 100 GiB in base pages.
CaptionValues extrapolated(const Points& points) {
  PointList large = points.where(forks_of("one", 0), "bytes");
  std::erase_if(large, [](const Point* point) { return point->number("bytes") < 0x1p24; });
  if (large.size() < 2) return {};
  const Curve times = curve_over("", large, "bytes");
  const core::LineFit line = core::fit_line(times.x, times.y, core::FitWeight::relative);
  if (!(line.slope > 0)) return {};
  return {{"per_gib", core::format_seconds(line.slope * 0x1p30)},
          {"per_100_gib", core::format_seconds(line(100 * 0x1p30))}};
}

void forks(const StudyViews& views) {
  const Factors one = forks_of("one", 0), prepared_one = forks_of("one", 0, "prepared"),
                serial = forks_of("serial", 0), tree = forks_of("tree", 0),
                threads = forks_of("threads", 0), prepared = forks_of("tree", 0, "prepared");
  const Column memory{"memory", level_of("bytes", "B")};
  views.table("one_fork",
              {memory,
               {"4 KiB pieces", time_of(one)},
               {"2 MiB pieces", time_of(forks_of("one", 1))},
               {"at once", time_of(forks_of("one", 2))},
               {"prepared: 4 KiB pieces", time_of(prepared_one)},
               {"prepared: at once", time_of(forks_of("one", 2, "prepared"))},
               {"gain by preparing", medians_ratio_of(one, prepared_one)}},
              combinations(views.points, {"bytes"}), extrapolated(views.points));
  views.table("children",
              {memory,
               {"one after the other", time_of(serial)},
               {"tree", time_of(tree)},
               {"from threads", time_of(threads)},
               {"serial / tree", ratio_of(serial, tree)},
               {"tree, prepared", time_of(prepared)},
               {"serial / tree, prepared", medians_ratio_of(serial, prepared)}},
              combinations(views.points, {"bytes"}, serial));
  const std::string children = fmt::format("{}, ", kForkChildren);
  Curves curves = times_over(views.points, "bytes",
                             {{"one, 4 KiB pieces", one},
                              {"one, at once", forks_of("one", 2)},
                              {"one, prepared", prepared_one},
                              {children + "one after the other", serial},
                              {children + "tree", tree},
                              {children + "from threads", threads}},
                             "resident memory", "B");
  const std::string ends = ends_of(curves);
  views.chart("forks", std::move(curves), {{"ends", ends}});
}

// ---- scaling: a workload with an allocator; a row has a number of workers ----

int workers_of(const Factors& row) { return static_cast<int>(row.number("workers")); }

// Threads only, processes only, and the fastest teams of several processes with several threads.
std::vector<WorkerLine> lines_of(const Factors& what) {
  const auto alone = [what](const char* one, const char* several) {
    return Pick([=](const Points& points, const Factors& row) {
      return points.find(what.with({{one, 1}, {several, workers_of(row)}}));
    });
  };
  const Pick teams([](const Points& points, const Factors& row) {
    const auto fits = [&](const Point& point) {
      const Shape shape = shape_of(point.factors);
      return shape.processes > 1 && shape.threads > 1 && shape.workers() == workers_of(row);
    };
    return fastest_with({"workload", "allocator"}, fits)(points, row);
  });
  return {{"threads", "threads only", alone("processes", "threads")},
          {"processes", "processes only", alone("threads", "processes")},
          {"teams", "best team", teams}};
}

std::vector<Factors> rows_of_workers(const Points& points, const Factors& what) {
  std::set<int> numbers;
  for (const Point* point : points.where(what)) numbers.insert(shape_of(point->factors).workers());
  std::vector<Factors> rows;
  for (const int workers : numbers) rows.push_back(what.with({{"workers", workers}}));
  return rows;
}

Curves efficiencies(Curves curves) {
  curves.y.name = "efficiency";
  for (Curve& curve : curves.series) {
    for (auto* values : {&curve.y, &curve.low, &curve.high})
      for (std::size_t i = 0; i < values->size(); ++i) (*values)[i] /= curve.x[i];
  }
  return curves;
}

// Adds the scalability law of a curve, fitted up to one worker per PU, because more take turns.
// Returns what to say about it.
std::string add_law(Curves& curves, const Curve& measured, int pus) {
  std::vector<core::TimePoint> points;
  for (std::size_t i = 0; i < measured.x.size(); ++i) {
    if (measured.x[i] <= pus) points.push_back({measured.x[i], 1 / measured.y[i]});
  }
  if (points.size() < 2) return measured.name + " not fitted";
  const std::optional<core::ScalabilityLaw> law = core::scalability_law_of(points);
  if (!law) return measured.name + ": the law does not fit";
  Curve fitted{.name = measured.name + ", law", .role = Role::fitted, .colour = measured.colour};
  for (int workers = 1; workers <= pus; ++workers) {
    fitted.x.push_back(workers);
    fitted.y.push_back(law->speedup(workers));
  }
  curves.series.push_back(std::move(fitted));
  return fmt::format("{} contention {:.3f}, coherency {:.4f}", measured.name, law->contention,
                     law->coherency);
}

void shapes_map(const StudyViews& views, const std::vector<Result>& choices, const Factors& what,
                CaptionValues values) {
  const Points& points = views.points;
  const Factors one = what.with({{"processes", 1}, {"threads", 1}});
  Matrix matrix =
      matrix_of(ratio_of(always(one), {}), points, combinations(points, {"processes"}, what),
                combinations(points, {"threads"}, what));
  matrix.unit = "ratio";
  matrix.better = Better::higher;
  matrix.row_axis = "processes";
  matrix.column_axis = "threads in each";
  const Point* best = fastest(points.where(what));
  values["most"] = text_of(ratio_entry(points.find(one), best));
  values["shape"] = text_of(label(*best));
  const auto choice = std::ranges::find_if(
      choices, [&](const Result& result) { return result.factors.match(what); });
  if (choice != choices.end()) {
    values["reason"] = choice->details.at("reason").text();
    const auto row = std::ranges::find(matrix.rows, choice->factors.text("processes"));
    const auto column = std::ranges::find(matrix.columns, choice->factors.text("threads"));
    if (row != matrix.rows.end() && column != matrix.columns.end())
      matrix.framed = {static_cast<std::size_t>(row - matrix.rows.begin()),
                       static_cast<std::size_t>(column - matrix.columns.begin())};
  }
  views.chart("shapes." + what.word("workload"), std::move(matrix), values, "shapes");
}

void scaling(const StudyViews& views, const std::vector<Result>& choices,
             const std::string& workload, int pus) {
  const Points& points = views.points;
  const std::string allocator = points.words("allocator").front();
  const Factors what{{"workload", workload}, {"allocator", allocator}},
      one = what.with({{"processes", 1}, {"threads", 1}});
  if (points.find(one) == nullptr) return;
  const std::vector<Factors> rows = rows_of_workers(points, what);
  const std::vector<WorkerLine> lines = lines_of(what);
  const Curves measured = speedup_curves(points, always(one), lines, rows);
  Curves curves = measured;
  curves.series.clear();
  std::vector<std::string> laws;
  int colour = 0;
  for (Curve curve : measured.series) {
    curve.colour = colour++;
    curves.series.push_back(curve);
    if (curve.name != lines.back().name) laws.push_back(add_law(curves, curve, pus));
  }
  CaptionValues values = {{"title", fmt::format("{} ({})", title_of(workload), allocator)},
                          {"laws", fmt::format("{}", fmt::join(laws, "; "))}};
  values["law"] = views.caption("law", values).note;
  views.table("speedup", speedup_columns(always(one), lines, label), rows, values);
  for (const char* chart : {"scaling", "efficiency"}) {
    values["ends"] = ends_of(curves);
    views.chart(fmt::format("{}.{}", chart, workload), curves, values, chart);
    curves = efficiencies(std::move(curves));
  }
  shapes_map(views, choices, what, std::move(values));
}

// ---- against each other ----

void comparison(const StudyViews& views, int pus) {
  const Pick one{{"processes", 1}, {"threads", 1}}, threads{{"processes", 1}, {"threads", pus}},
      team = fastest_with({"workload", "allocator"}, [pus](const Point&point) {
        return shape_of(point.factors).processes > 1 && shape_of(point.factors).workers() == pus;
      });
  const std::vector<Factors> rows = having(combinations(views.points, {"workload", "allocator"}),
                                           views.points, {one, threads, team});
  for (const Factors& row : rows)
    add_gain(views, row.word("workload"), row.word("allocator"), "the best team",
             ratio_of(threads, team)(views.points, row));
  views.table("comparison",
              {{"workload", word_of("workload", title_of)},
               {"allocator", word_of("allocator")},
               {"one worker", time_per_request(one)},
               {"threads only", time_per_request(threads)},
               {"with processes", time_per_request(team)},
               {"P x T", shown_of(team, label)},
               {"threads / processes", ratio_of(threads, team)},
               {fmt::format("report, {} workers", views.reported("workers")),
                published_of(views.report, "gain.{workload}.{allocator}")}},
              rows);
}

// Of the samples of automatic teams: how many predicted a time, and how many of these held.
struct PredictionTally {
  std::size_t predicted = 0, held = 0;

  void add(const Point& automatic) {
    for (const double one : automatic.beside.at("held")) {
      predicted += !std::isnan(one);
      held += one == 1;
    }
  }
};

Entry predictions_held(const Point& automatic) {
  PredictionTally tally;
  tally.add(automatic);
  if (tally.predicted == 0) return "none made";
  return fmt::format("{} of {}", tally.held, tally.predicted);
}

CaptionValues tally_values(Record& record, const PredictionTally& all) {
  if (all.predicted == 0) return {{"none", "No time was predicted."}};
  const double share = double(all.held) / double(all.predicted);
  add_result(record, "choice.predictions_held",
             "share of predicted times whose interval held what the work then took", {share, ""},
             Better::higher);
  return {{"predicted", std::to_string(all.predicted)},
          {"held", std::to_string(all.held)},
          {"share", show_percent(share)}};
}

void choice_table(const StudyViews& views, const std::vector<Result>& choices) {
  const Pick automatic([](const Points& points, const Factors& row) {
    return points.find(automatic_factors(row.word("workload"), row.word("allocator")));
  });
  const Pick best = fastest_with({"workload", "allocator"});
  const Cell ratio = ratio_of(automatic, best);
  std::vector<Factors> rows;
  PredictionTally all;
  std::size_t good = 0;
  std::string reasons;
  for (const Result& choice : choices) {
    const Factors& row = choice.factors;
    const Entry to_best = ratio(views.points, row);
    if (!to_best.value || views.points.find(row) == nullptr) continue;
    rows.push_back(row);
    all.add(*automatic(views.points, row));
    good += *to_best.value <= 1.1;
    if (*row.find("allocator") == views.points.levels("allocator").front())
      reasons += fmt::format(" {}: {}.", row.word("workload"), choice.details.at("reason").text());
  }
  if (rows.empty()) return;
  const auto predicted = [&](const Points&, const Factors& row) {
    const Result& choice = *std::ranges::find(choices, row, &Result::factors);
    return choice.value ? Entry(*choice.value, "s", choice.interval) : Entry("not known");
  };
  CaptionValues values = tally_values(views.record, all);
  values.insert({{"good", std::to_string(good)},
                 {"cases", std::to_string(rows.size())},
                 {"reasons", reasons}});
  views.table("choices",
              {{"workload", word_of("workload", title_of)},
               {"allocator", word_of("allocator")},
               {"chosen", shown_of({}, label)},
               {"predicted", predicted},
               {"measured", time_of()},
               {"best", shown_of(best, label)},
               {"best measured", time_of(best)},
               {"chosen with sample / best", ratio},
               {"sample", shown_of(automatic,
                                   [](const Point& point) {
                                     return Entry(median_beside(point, "sample_s"), "s");
                                   })},
               {"predictions held", shown_of(automatic, predictions_held)}},
              rows, values);
}

}  // namespace

void add_views(Record& record, const Points& points, const std::vector<Result>& choices, int pus) {
  const Record& report = published("process-thread");
  const StudyViews views{record,
                         points,
                         report,
                         {{"pus", std::to_string(pus)},
                          {"children", std::to_string(kForkChildren)},
                          {"summary", report.machine.at("summary").get<std::string>()}}};
  forks(views);
  for (const std::string& workload : points.words("workload"))
    scaling(views, choices, workload, pus);
  comparison(views, pus);
  choice_table(views, choices);
  add_mining_views(record, points, pus);
}

}  // namespace tabane::lab::process_thread
