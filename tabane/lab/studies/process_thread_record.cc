// The record of the study process-thread: every sample, and the tables that figures are drawn from.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "tabane/lab/studies/process_thread_data.h"

namespace tabane::lab::process_thread {
namespace {

Result series_result(const Cell& cell, const Series& series) {
  Result result;
  result.name = fmt::format("process_thread.{}.{}.p{}t{}", cell.workload->name, cell.allocator,
                            series.shape.processes, series.shape.threads);
  result.what = fmt::format("time of {} with {}", cell.workload->title, cell.allocator);
  result.unit = "s";
  result.better = Better::lower;
  const auto all = [&](auto of) {
    Json values = Json::array();
    for (const Run& run : series.runs) values.push_back(of(run));
    return values;
  };
  result.parameters = {{"workload", cell.workload->name},
                       {"allocator", cell.allocator},
                       {"processes", series.shape.processes},
                       {"threads", series.shape.threads},
                       {"requests", cell.requests},
                       {"chosen", cell.chosen && cell.chosen->predicted.shape == series.shape},
                       {"order", all([](const Run& r) { return r.order; })},
                       {"fork_s", all([](const Run& r) { return r.fork_seconds; })},
                       {"join_s", all([](const Run& r) { return r.join_seconds; })}};
  set_samples(result, series.seconds());
  return result;
}

Result choice_result(const Cell& cell) {
  const Chosen& chosen = *cell.chosen;
  Result result;
  result.name = fmt::format("process_thread.choice.{}.{}", cell.workload->name, cell.allocator);
  result.what = "predicted time of the chosen processes x threads";
  result.unit = "s";
  result.better = Better::neither;
  result.value = chosen.predicted.seconds;
  result.interval = core::Interval{chosen.predicted.low, chosen.predicted.high};
  result.parameters = {{"processes", chosen.predicted.shape.processes},
                       {"threads", chosen.predicted.shape.threads},
                       {"reason", chosen.reason},
                       {"sample_s", chosen.sample_seconds},
                       {"total_with_sample_s", chosen.total_seconds},
                       {"fork_s", chosen.fork_seconds}};
  return result;
}

void add_forks(SurveyRecord& record, const ForkPoint& point) {
  const std::pair<const char*, const std::vector<double>*> ways[] = {{"one", &point.one},
                                                                     {"serial", &point.serial},
                                                                     {"tree", &point.tree},
                                                                     {"threads", &point.threads}};
  for (const auto& [way, samples] : ways) {
    if (samples->empty()) continue;
    Result result;
    result.name = fmt::format("process_thread.forks.{}.{}.{}{}", way, point.bytes,
                              point.piece_bytes, point.prepared ? ".prepared" : "");
    result.what = "start and end of children of a process that holds memory";
    result.unit = "s";
    result.better = Better::lower;
    result.parameters = {{"held_bytes", point.bytes},
                         {"piece_bytes", point.piece_bytes == 0 ? point.bytes : point.piece_bytes},
                         {"prepared", point.prepared},
                         {"small_page_bytes", point.small_page_bytes},
                         {"huge_page_bytes", point.huge_page_bytes},
                         {"children", way == std::string("one") ? 1 : kForkChildren}};
    set_samples(result, *samples);
    record.results.push_back(std::move(result));
  }
}

void add_point(Curve& curve, double x, const std::vector<double>& samples) {
  const core::Interval interval = core::median_interval(samples);
  curve.x.push_back(x);
  curve.y.push_back(core::median(samples));
  curve.low.push_back(interval.low);
  curve.high.push_back(interval.high);
}

Table fork_curves(const Findings& findings) {
  CurvesTable curves{{"resident memory", "B", true}, {"time", "s", true}, {}};
  const auto add = [&](const std::string& name, auto samples_of) {
    Curve curve{.name = name};
    for (const ForkPoint& point : findings.forks) {
      const std::vector<double>* samples = samples_of(point);
      if (samples != nullptr && !samples->empty())
        add_point(curve, static_cast<double>(point.bytes), *samples);
    }
    if (!curve.x.empty()) curves.series.push_back(std::move(curve));
  };
  const auto one = [](std::uint64_t piece, bool prepared) {
    return [=](const ForkPoint& p) -> const std::vector<double>* {
      return p.piece_bytes == piece && p.prepared == prepared ? &p.one : nullptr;
    };
  };
  add("one, 4 KiB pieces", one(4096, false));
  add("one, at once", one(0, false));
  add("one, prepared", one(4096, true));
  add("8, one after the other", [](const ForkPoint& p) -> const std::vector<double>* {
    return p.piece_bytes == 4096 && !p.prepared ? &p.serial : nullptr;
  });
  add("8, tree", [](const ForkPoint& p) -> const std::vector<double>* {
    return p.piece_bytes == 4096 && !p.prepared ? &p.tree : nullptr;
  });
  add("8, from threads", [](const ForkPoint& p) -> const std::vector<double>* {
    return p.piece_bytes == 4096 && !p.prepared ? &p.threads : nullptr;
  });
  return {.name = "process_thread.forks",
          .what = "start and end of children over the resident memory of their parent",
          .content = std::move(curves)};
}

Curve law_curve(const std::string& name, const std::vector<team::SpeedupPoint>& points, int most,
                bool efficiency) {
  const team::ScalabilityLaw law = team::fit_scalability(points);
  Curve curve{.name = name};
  constexpr int kSteps = 40;
  for (int i = 0; i <= kSteps; ++i) {
    const double workers = 1 + (most - 1) * static_cast<double>(i) / kSteps;
    curve.x.push_back(workers);
    curve.y.push_back(efficiency ? law.efficiency(workers) : law.speedup(workers));
  }
  return curve;
}

// Speed-up, or speed-up per worker, of the three ways, with the laws fitted to the first two.
Table scaling_curves(const Cell& cell, const Findings& findings, bool efficiency) {
  CurvesTable curves{
      {"workers", "", false}, {efficiency ? "efficiency" : "speed-up", "ratio", false}, {}};
  for (bool threads_only : {true, false}) {
    Curve curve{.name = threads_only ? "threads" : "processes"};
    for (const team::SpeedupPoint& point : speedups(cell, threads_only, 2 * findings.pus)) {
      curve.x.push_back(point.workers);
      curve.y.push_back(efficiency ? point.speedup / point.workers : point.speedup);
    }
    const auto fitted = speedups(cell, threads_only, findings.pus);
    const std::string law = curve.name + ", law";
    if (!curve.x.empty()) curves.series.push_back(std::move(curve));
    if (fitted.size() > 1)
      curves.series.push_back(law_curve(law, fitted, findings.pus, efficiency));
  }
  Curve teams{.name = "teams"};
  std::set<int> workers;
  for (const Series& one : cell.series) workers.insert(one.shape.workers());
  for (int w : workers) {
    double best = 0;
    for (const Series& one : cell.series) {
      if (one.shape.workers() != w || one.shape.processes == 1 || one.shape.threads == 1) continue;
      best = std::max(best, cell.speedup(one.shape).value_or(0));
    }
    if (best == 0) continue;
    teams.x.push_back(w);
    teams.y.push_back(efficiency ? best / w : best);
  }
  if (!teams.x.empty()) curves.series.push_back(std::move(teams));
  return {.name = fmt::format("process_thread.{}.{}", efficiency ? "efficiency" : "scaling",
                              cell.workload->name),
          .what = fmt::format("{} over one worker, {}, {}",
                              efficiency ? "speed-up per worker" : "speed-up", cell.workload->title,
                              cell.allocator),
          .parameters = {{"workload", cell.workload->title},
                         {"allocator", cell.allocator},
                         {"pus", findings.pus}},
          .content = std::move(curves)};
}

Table heat_map(const Cell& cell) {
  std::set<int> processes, threads;
  for (const Series& one : cell.series) {
    processes.insert(one.shape.processes);
    threads.insert(one.shape.threads);
  }
  MatrixTable matrix{"ratio", Better::higher, {}, {}, {}};
  for (int t : threads) matrix.columns.push_back(std::to_string(t));
  for (int p : processes) {
    matrix.rows.push_back(std::to_string(p));
    std::vector<std::optional<double>> row;
    for (int t : threads) row.push_back(cell.speedup({p, t}));
    matrix.values.push_back(std::move(row));
  }
  Json parameters = {{"workload", cell.workload->title}, {"allocator", cell.allocator}};
  if (cell.chosen) {
    parameters["chosen_processes"] = std::to_string(cell.chosen->predicted.shape.processes);
    parameters["chosen_threads"] = std::to_string(cell.chosen->predicted.shape.threads);
    parameters["reason"] = cell.chosen->reason;
  }
  return {.name = fmt::format("process_thread.shapes.{}", cell.workload->name),
          .what = "speed-up over one worker; rows: processes, columns: threads in each",
          .parameters = std::move(parameters),
          .content = std::move(matrix)};
}

}  // namespace

void add_record(SurveyRecord& record, const Findings& findings) {
  for (const ForkPoint& point : findings.forks) add_forks(record, point);
  if (!findings.forks.empty()) record.tables.push_back(fork_curves(findings));
  for (const Cell& cell : findings.cells) {
    for (const Series& one : cell.series) {
      if (!one.runs.empty()) record.results.push_back(series_result(cell, one));
    }
    if (cell.chosen) record.results.push_back(choice_result(cell));
  }
  for (const Cell& cell : findings.cells) {
    if (cell.allocator != findings.cells.front().allocator || cell.find({1, 1}) == nullptr)
      continue;
    record.tables.push_back(scaling_curves(cell, findings, false));
    record.tables.push_back(scaling_curves(cell, findings, true));
    record.tables.push_back(heat_map(cell));
  }
}

}  // namespace tabane::lab::process_thread
