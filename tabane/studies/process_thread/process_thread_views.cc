// The tables and charts of the study process-thread, with the report's figures.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tabane/core/fit.h"
#include "tabane/core/units.h"
#include "tabane/lab/record/published.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/study/study.h"
#include "tabane/studies/process_thread/process_thread.h"

namespace tabane::lab::process_thread {
namespace {

Shape shape_of(const Point& point) {
  return {static_cast<int>(point.number("processes")), static_cast<int>(point.number("threads"))};
}

std::string label(const Point& point) {
  return fmt::format("{} x {}", point.text("processes"), point.text("threads"));
}

Entry time_per_request(const Point& point) {
  return {point.median() / point.beside.at("requests").front(), "s"};
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

// Of all sizes.
Factors forks_of(const char* way, const Level& piece, const char* memory) {
  return {{"part", "forks"}, {"way", way}, {"piece", piece}, {"memory", memory}};
}

struct Findings {
  Record& record;
  const Points& points;
  const std::vector<Result>& choices;
  int pus;
  const Record& report = published("process-thread");

  const Point* one_worker(const Factors& what) const {
    return points.find(what.with({{"processes", 1}, {"threads", 1}}));
  }
  // What the report says where it has no number.
  std::string report_says(const std::string& name) const {
    return text_of(published_entry(report, "process_thread." + name));
  }
};

std::string reason_of(const Result& choice) { return choice.details.at("reason").text(); }

// ---- forks ----

// What the line through the larger sizes says for 100 GiB in base pages.
std::string extrapolated(const Findings& data) {
  PointList large = data.points.where(forks_of("one", kPieces[0], "as allocated"), "bytes");
  std::erase_if(large, [](const Point* point) { return point->number("bytes") < 0x1p24; });
  if (large.size() < 2) return "";
  const Curve times = curve_over("", large, "bytes");
  const core::LineFit line = core::fit_line(times.x, times.y, core::FitWeight::relative);
  if (!(line.slope > 0)) return "";
  return fmt::format(
      " In 4 KiB pieces every GiB adds {} to a fork here; by that 100 GiB would take {}.",
      core::format_seconds(line.slope * 0x1p30), core::format_seconds(line(100 * 0x1p30)));
}

void one_fork(const Findings& data) {
  const Factors small = forks_of("one", kPieces[0], "as allocated"),
                prepared = forks_of("one", kPieces[0], "prepared");
  const Rows rows =
      rows_of({{"memory", level_of("bytes", "B")},
               {"4 KiB pieces", time_of(small)},
               {"2 MiB pieces", time_of(forks_of("one", kPieces[1], "as allocated"))},
               {"at once", time_of(forks_of("one", kPieces[2], "as allocated"))},
               {"prepared: 4 KiB pieces", time_of(prepared)},
               {"prepared: at once", time_of(forks_of("one", kPieces[2], "prepared"))},
               {"gain by preparing", medians_ratio_of(small, prepared)}},
              data.points, combinations(data.points, {"bytes"}));
  add_table(data.record, "One fork, its end and the wait for it, over resident memory", rows,
            fmt::format("Prepared: moved into huge pages before the fork. The report ({}): {}, {}, "
                        "{}.{}",
                        data.report.machine.at("summary").get<std::string>(),
                        data.report_says("forks.proportional_above"),
                        data.report_says("forks.seconds_above"),
                        data.report_says("forks.refused_above"), extrapolated(data)));
}

void children(const Findings& data) {
  const Factors serial = forks_of("serial", kPieces[0], "as allocated"),
                tree = forks_of("tree", kPieces[0], "as allocated"),
                prepared = forks_of("tree", kPieces[0], "prepared");
  add_table(data.record,
            fmt::format("Start and end of {} children, memory in 4 KiB pieces", kForkChildren),
            rows_of({{"memory", level_of("bytes", "B")},
                     {"one after the other", time_of(serial)},
                     {"tree", time_of(tree)},
                     {"from threads", time_of(forks_of("threads", kPieces[0], "as allocated"))},
                     {"serial / tree", ratio_of(serial, tree)},
                     {"tree, prepared", time_of(prepared)},
                     {"serial / tree, prepared", medians_ratio_of(serial, prepared)}},
                    data.points, combinations(data.points, {"bytes"}, serial)),
            fmt::format("Serial and tree are empty teams of tabane; from threads is a bare fork in "
                        "each of as many threads. The report: {}.",
                        data.report_says("forks.threads")));
}

void fork_curves(const Findings& data) {
  const auto children = [](const char* how) { return fmt::format("{}, {}", kForkChildren, how); };
  const Curves curves =
      times_over(data.points, "bytes",
                 {{"one, 4 KiB pieces", forks_of("one", kPieces[0], "as allocated")},
                  {"one, at once", forks_of("one", kPieces[2], "as allocated")},
                  {"one, prepared", forks_of("one", kPieces[0], "prepared")},
                  {children("one after the other"), forks_of("serial", kPieces[0], "as allocated")},
                  {children("tree"), forks_of("tree", kPieces[0], "as allocated")},
                  {children("from threads"), forks_of("threads", kPieces[0], "as allocated")}},
                 "resident memory", "B");
  add_chart(data.record, "forks", "Start and end of children over resident memory",
            ends_of(curves) + ". Both axes are logarithmic.", curves);
}

// ---- scaling ----

// One workload with one allocator: threads only, processes only, and the fastest teams of several
// processes with several threads, by workers.
struct ShapeLine {
  const char* name;
  int colour;
  bool has_law;
  std::map<int, const Point*> points = {};
};

std::vector<ShapeLine> lines_of(const Points& points, const Factors& what) {
  ShapeLine threads{"threads", 0, true}, processes{"processes", 1, true}, teams{"teams", 2, false};
  for (const Point* point : points.where(what)) {
    const Shape shape = shape_of(*point);
    if (shape.processes == 1) threads.points[shape.threads] = point;
    if (shape.threads == 1) processes.points[shape.processes] = point;
    if (shape.processes == 1 || shape.threads == 1) continue;
    const Point*& best = teams.points[shape.workers()];
    if (best == nullptr || point->median() < best->median()) best = point;
  }
  return {threads, processes, teams};
}

Curve speedup_curve(const ShapeLine& line, const Point* one) {
  Curve curve{.name = line.name, .colour = line.colour};
  for (const auto& [workers, point] : line.points) {
    if (const auto speedup = ratio_in_turn(one, point))
      add_place(curve, workers, speedup->value, speedup->interval);
  }
  return curve;
}

Curves efficiencies(Curves curves) {
  curves.y.name = "efficiency";
  for (Curve& curve : curves.series) {
    for (auto* values : {&curve.y, &curve.low, &curve.high})
      for (std::size_t i = 0; i < values->size(); ++i) (*values)[i] /= curve.x[i];
  }
  return curves;
}

// Adds the scalability law of the last curve, fitted up to one worker per PU, because more take
// turns. Returns what to say about it.
std::string add_law(Curves& curves, int pus) {
  const Curve measured = curves.series.back();
  std::vector<core::TimePoint> points;
  for (std::size_t i = 0; i < measured.x.size(); ++i) {
    if (measured.x[i] <= pus) points.push_back({measured.x[i], 1 / measured.y[i]});
  }
  if (points.size() < 2) return measured.name + " not fitted";
  const std::optional<core::ScalabilityLaw> fit = core::scalability_law_of(points);
  if (!fit) return measured.name + ": the law does not fit";
  const core::ScalabilityLaw law = *fit;
  Curve fitted{.name = measured.name + ", law", .role = Role::fitted, .colour = measured.colour};
  for (int workers = 1; workers <= pus; ++workers) {
    fitted.x.push_back(workers);
    fitted.y.push_back(law.speedup(workers));
  }
  curves.series.push_back(std::move(fitted));
  return fmt::format("{} contention {:.3f}, coherency {:.4f}", measured.name, law.contention,
                     law.coherency);
}

Rows scaling_rows(const std::vector<ShapeLine>& lines, const Point* one) {
  std::set<int> numbers;
  for (const ShapeLine& line : lines)
    for (const auto& [workers, point] : line.points) numbers.insert(workers);
  return rows_of({"workers", "threads only", "speed-up", "processes only", "speed-up", "best team",
                  "speed-up", "P x T"},
                 numbers, [&](int workers) {
                   std::vector<Entry> row = {count_entry(workers)};
                   const Point* team = nullptr;  // of the last line
                   for (const ShapeLine& line : lines) {
                     const auto found = line.points.find(workers);
                     team = found == line.points.end() ? nullptr : found->second;
                     row.push_back(median_entry(team));
                     row.push_back(ratio_entry(one, team));
                     row.back().interval.reset();  // the charts show it
                   }
                   row.push_back(team == nullptr ? Entry() : Entry(label(*team)));
                   return row;
                 });
}

void shapes_map(const Findings& data, const std::string& title, const Factors& what) {
  Matrix matrix{"ratio", Better::higher, {}, {}, {}, "processes", "threads in each"};
  const auto choice =
      std::find_if(data.choices.begin(), data.choices.end(),
                   [&](const Result& result) { return result.factors.match(what); });
  const bool chosen = choice != data.choices.end();
  const Point* one = data.one_worker(what);
  const auto threads = data.points.levels("threads", what);
  for (const Level& t : threads) matrix.columns.push_back(t.text());
  for (const Level& p : data.points.levels("processes", what)) {
    matrix.rows.push_back(p.text());
    auto& row = matrix.values.emplace_back();
    for (const Level& t : threads) {
      const Factors shape = what.with({{"processes", p}, {"threads", t}});
      row.push_back(ratio_entry(one, data.points.find(shape)).value);
      if (chosen && choice->factors.match(shape))
        matrix.framed = {matrix.rows.size() - 1, row.size() - 1};
    }
  }
  const Point* best = fastest(data.points.where(what));
  std::string note = fmt::format("Speed-up over one worker: at most {}, with {}.",
                                 text_of(ratio_entry(one, best)), label(*best));
  if (chosen) note += fmt::format(" The frame is what was chosen: {}.", reason_of(*choice));
  add_chart(data.record, "shapes." + what.find("workload")->word(),
            "Processes and threads: " + title, note, matrix);
}

void scaling(const Findings& data, const std::string& workload) {
  const std::string allocator = data.points.words("allocator").front();
  const Factors what{{"workload", workload}, {"allocator", allocator}};
  const Point* one = data.one_worker(what);
  if (one == nullptr) return;
  const std::string title = fmt::format("{} ({})", find_workload(workload).title, allocator);
  const std::vector<ShapeLine> lines = lines_of(data.points, what);
  Curves curves{.x = {"workers", ""}, .y = {"speed-up", "ratio"}, .series = {}, .ideal = true};
  std::vector<std::string> laws;
  for (const ShapeLine& line : lines) {
    if (line.points.empty()) continue;
    curves.series.push_back(speedup_curve(line, one));
    if (line.has_law) laws.push_back(add_law(curves, data.pus));
  }
  const std::string note = fmt::format(
      "The scalability law, dashed in the charts, is fitted up to one worker per PU ({}): {}.",
      data.pus, fmt::join(laws, "; "));
  add_table(data.record, title + ": time and speed-up over one worker", scaling_rows(lines, one),
            note);
  add_chart(data.record, "scaling." + workload, "Speed-up over one worker: " + title,
            fmt::format("{}. {}", ends_of(curves), note), curves);
  const Curves per_worker = efficiencies(curves);
  add_chart(data.record, "efficiency." + workload, "Speed-up per worker: " + title,
            fmt::format("{}. {}", ends_of(per_worker), note), per_worker);
  shapes_map(data, title, what);
}

// ---- against each other ----

void comparison(const Findings& data) {
  const std::string workers = data.report_says("workers");
  const auto row_of = [&](const Factors& what) -> std::vector<Entry> {
    const std::string workload = what.find("workload")->word();
    const std::string allocator = what.find("allocator")->word();
    PointList teams = data.points.where(what);
    std::erase_if(teams, [&](const Point* point) {
      const Shape shape = shape_of(*point);
      return shape.processes == 1 || shape.workers() != data.pus;
    });
    const Point* one = data.one_worker(what);
    const Point* threads = data.points.find(what.with({{"processes", 1}, {"threads", data.pus}}));
    const Point* team = fastest(teams);
    if (one == nullptr || threads == nullptr || team == nullptr) return {};
    const Entry gain = ratio_entry(threads, team);
    const Result& result = add_result(
        data.record, fmt::format("gain.{}.{}", workload, allocator),
        "time of threads only over that of the best team, one worker per PU", gain, Better::higher);
    return {find_workload(workload).title,
            allocator,
            time_per_request(*one),
            time_per_request(*threads),
            time_per_request(*team),
            label(*team),
            gain,
            published_entry(data.report, result.name)};
  };
  const Rows rows =
      rows_of({"workload", "allocator", "one worker", "threads only", "with processes", "P x T",
               "threads / processes", fmt::format("report, {} workers", workers)},
              combinations(data.points, {"workload", "allocator"}), row_of);
  add_table(data.record, fmt::format("Threads only against processes, {} workers", data.pus), rows,
            fmt::format(
                "Time per request: malloc and free, insert, or word. Threads / processes: time of "
                "threads over that of the fastest shape with as many workers in several processes, "
                "median of pairs measured in turn and its 95 % interval; above 1 processes are "
                "faster. The report's figures are how many times as fast as threads teams are with "
                "{} workers; fewer cores show less.",
                workers));
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

Entry prediction_of(const Result& choice) {
  return choice.value ? Entry(*choice.value, "s", choice.interval) : Entry("not known");
}

std::string predictions_that_held(const Findings& data, const PredictionTally& all) {
  if (all.predicted == 0) return "No time was predicted.";
  const double share = double(all.held) / double(all.predicted);
  add_result(data.record, "choice.predictions_held",
             "share of predicted times whose interval held what the work then took", {share, ""},
             Better::higher);
  return fmt::format("Of {} predictions {} held ({}; at least 90 % should).", all.predicted,
                     all.held, show_percent(share));
}

void choice_table(const Findings& data) {
  std::size_t good = 0;
  PredictionTally all;
  std::string reasons;
  const auto row_of = [&](const Result& choice) -> std::vector<Entry> {
    const Level workload = *choice.factors.find("workload");
    const Level allocator = *choice.factors.find("allocator");
    const Point* chosen = data.points.find(choice.factors);
    const Point* automatic = data.points.find(automatic_factors(workload.word(), allocator.word()));
    const Point* best =
        fastest(data.points.where({{"workload", workload}, {"allocator", allocator}}));
    const Entry ratio = ratio_entry(automatic, best);
    if (!ratio.value || chosen == nullptr) return {};
    PredictionTally held;
    held.add(*automatic);
    all.add(*automatic);
    good += *ratio.value <= 1.1;
    if (allocator == data.points.levels("allocator").front())
      reasons += fmt::format(" {}: {}.", workload.word(), reason_of(choice));
    return {find_workload(workload.word()).title,
            allocator.word(),
            label(*chosen),
            prediction_of(choice),
            median_entry(chosen),
            label(*best),
            median_entry(best),
            ratio,
            {core::median(automatic->beside.at("sample_s")), "s"},
            held.predicted == 0 ? "none made" : fmt::format("{} of {}", held.held, held.predicted)};
  };
  const Rows rows =
      rows_of({"workload", "allocator", "chosen", "predicted", "measured", "best", "best measured",
               "chosen with sample / best", "sample", "predictions held"},
              data.choices, row_of);
  if (rows.rows.empty()) return;
  add_table(
      data.record, "The chosen processes x threads against the best measured", rows,
      fmt::format(
          "Chosen with sample / best: a team that chooses anew each time, with its sample, "
          "in turn with the best. Within 10 % of the best in {} of {} cases; the best of many "
          "noisy medians is somewhat too good. {} Chosen, predicted and measured are those of "
          "the first choice; a prediction is of the work without the sample.{}",
          good, rows.rows.size(), predictions_that_held(data, all), reasons));
}

}  // namespace

void add_views(Record& record, const Points& points, const std::vector<Result>& choices, int pus) {
  const Findings data{record, points, choices, pus};
  one_fork(data);
  children(data);
  fork_curves(data);
  for (const std::string& workload : points.words("workload")) scaling(data, workload);
  comparison(data);
  choice_table(data);
  add_mining_views(record, points, pus);
}

}  // namespace tabane::lab::process_thread
