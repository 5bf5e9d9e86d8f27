// The tables of the study process-thread that stand beside the report's.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "tabane/core/fit.h"
#include "tabane/core/units.h"
#include "tabane/lab/studies/process_thread_data.h"

namespace tabane::lab::process_thread {
namespace {

constexpr const char* kNone = "–";

std::string median_time(const std::vector<double>& seconds) {
  return seconds.empty() ? kNone : core::format_seconds(core::median(seconds));
}

std::string time_per_request(const Cell& cell, const Series& series) {
  return core::format_seconds(series.median() / cell.requests);
}

std::string ratio_text(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty()) return kNone;
  const core::Ratio ratio = core::interleaved_ratio(a, b);
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", ratio.value, ratio.interval.low,
                     ratio.interval.high);
}

// ---- forks ----

const ForkPoint* find_point(const Findings& findings, std::uint64_t bytes, std::uint64_t piece,
                            bool prepared) {
  for (const ForkPoint& point : findings.forks) {
    if (point.bytes == bytes && point.piece_bytes == piece && point.prepared == prepared)
      return &point;
  }
  return nullptr;
}

std::set<std::uint64_t> fork_sizes(const Findings& findings) {
  std::set<std::uint64_t> sizes;
  for (const ForkPoint& point : findings.forks) sizes.insert(point.bytes);
  return sizes;
}

constexpr std::uint64_t kPieces[] = {4096, std::uint64_t{2} << 20, 0};

// What the line through the larger sizes says for 100 GiB in base pages.
std::string extrapolated(const Findings& findings) {
  std::vector<double> x, y;
  for (const ForkPoint& point : findings.forks) {
    if (point.prepared || point.piece_bytes != 4096 || point.bytes < (std::uint64_t{16} << 20))
      continue;
    x.push_back(static_cast<double>(point.bytes));
    y.push_back(core::median(point.one));
  }
  if (x.size() < 2) return "";
  const core::LineFit line = core::fit_line(x, y, core::FitWeight::relative);
  if (!(line.slope > 0)) return "";
  return fmt::format(
      " In 4 KiB pieces a fork takes {} more for each GiB here; by that 100 GiB "
      "would take {}.",
      core::format_seconds(line.slope * 0x1p30), core::format_seconds(line(100 * 0x1p30)));
}

StudyTable one_fork_table(const Findings& findings) {
  StudyTable table{"One fork, its end and the wait for it, over resident memory", "", {}};
  table.rows = {{"memory", "4 KiB pieces", "2 MiB pieces", "at once", "prepared: 4 KiB pieces",
                 "at once", "gain by preparing"}};
  for (std::uint64_t bytes : fork_sizes(findings)) {
    std::vector<std::string> row = {core::format_bytes(bytes)};
    for (std::uint64_t piece : kPieces) {
      const ForkPoint* point = find_point(findings, bytes, piece, false);
      row.push_back(point == nullptr ? kNone : median_time(point->one));
    }
    for (std::uint64_t piece : {kPieces[0], kPieces[2]}) {
      const ForkPoint* point = find_point(findings, bytes, piece, true);
      row.push_back(point == nullptr ? kNone : median_time(point->one));
    }
    const ForkPoint* before = find_point(findings, bytes, kPieces[0], false);
    const ForkPoint* after = find_point(findings, bytes, kPieces[0], true);
    row.push_back(
        before == nullptr || after == nullptr
            ? kNone
            : fmt::format("{:.1f} x", core::median(before->one) / core::median(after->one)));
    table.rows.push_back(std::move(row));
  }
  table.remark =
      "Prepared: moved into huge pages before the fork. The report (1 TB, 4 KiB pages, Linux "
      "2.6.32): proportional to mapped memory above 1 MB, whole seconds above 100 GB, refused "
      "above "
      "500 GB." +
      extrapolated(findings);
  return table;
}

StudyTable children_table(const Findings& findings) {
  StudyTable table{
      fmt::format("Start and end of {} children, memory in 4 KiB pieces", kForkChildren), "", {}};
  table.rows = {{"memory", "one after the other", "tree", "from threads", "serial / tree",
                 "tree, prepared", "serial / tree, prepared"}};
  for (std::uint64_t bytes : fork_sizes(findings)) {
    const ForkPoint* point = find_point(findings, bytes, kPieces[0], false);
    const ForkPoint* prepared = find_point(findings, bytes, kPieces[0], true);
    if (point == nullptr) continue;
    table.rows.push_back(
        {core::format_bytes(bytes), median_time(point->serial), median_time(point->tree),
         median_time(point->threads), ratio_text(point->serial, point->tree),
         prepared == nullptr ? kNone : median_time(prepared->tree),
         prepared == nullptr
             ? kNone
             : fmt::format("{:.1f}", core::median(point->serial) / core::median(prepared->tree))});
  }
  table.remark =
      "Serial and tree are empty teams of tabane; from threads is a bare fork in each of as many "
      "threads. The report: forking from several threads of one process does not help, for forks "
      "of one address space do not run in parallel.";
  return table;
}

// ---- scaling ----

std::string time_and_speedup(const Cell& cell, Shape shape) {
  const Series* series = cell.find(shape);
  const auto speedup = cell.speedup(shape);
  if (series == nullptr || !speedup) return kNone;
  return fmt::format("{}, {:.2f}", core::format_seconds(series->median()), *speedup);
}

std::string law_text(const Cell& cell, const Findings& findings, bool threads_only) {
  const auto points = speedups(cell, threads_only, findings.pus);
  if (points.size() < 2) return "";
  const team::ScalabilityLaw law = team::fit_scalability(points);
  return fmt::format(" {}: contention {:.3f}, coherency {:.4f}.",
                     threads_only ? "Threads" : "Processes", law.contention, law.coherency);
}

StudyTable scaling_table(const Cell& cell, const Findings& findings) {
  StudyTable table{fmt::format("{} ({}): time and speed-up over one worker", cell.workload->title,
                               cell.allocator),
                   "",
                   {}};
  table.rows = {{"workers", "threads only", "processes only", "best team", "P x T"}};
  std::set<int> workers;
  for (const Series& one : cell.series) workers.insert(one.shape.workers());
  for (int w : workers) {
    const Series* mixed = nullptr;
    for (const Series& one : cell.series) {
      if (one.shape.workers() != w || one.shape.processes == 1 || one.shape.threads == 1) continue;
      if (one.runs.empty()) continue;
      if (mixed == nullptr || one.median() < mixed->median()) mixed = &one;
    }
    table.rows.push_back({std::to_string(w), time_and_speedup(cell, {1, w}),
                          time_and_speedup(cell, {w, 1}),
                          mixed == nullptr ? kNone : time_and_speedup(cell, mixed->shape),
                          mixed == nullptr ? kNone : label(mixed->shape)});
  }
  table.remark = fmt::format("{} PUs; the law is fitted up to as many workers.{}{}", findings.pus,
                             law_text(cell, findings, true), law_text(cell, findings, false));
  return table;
}

StudyTable comparison_table(const Findings& findings) {
  StudyTable table{fmt::format("Threads only against processes, {} workers", findings.pus), "", {}};
  table.rows = {{"workload", "allocator", "one worker", "threads only", "with processes", "P x T",
                 "threads / processes", "report, 72 workers"}};
  for (const Cell& cell : findings.cells) {
    const Series* one = cell.find({1, 1});
    const Series* threads = cell.find({1, findings.pus});
    const Series* team = cell.best_team(findings.pus);
    if (one == nullptr || threads == nullptr || team == nullptr) continue;
    table.rows.push_back({cell.workload->title, cell.allocator, time_per_request(cell, *one),
                          time_per_request(cell, *threads), time_per_request(cell, *team),
                          label(team->shape), ratio_text(threads->seconds(), team->seconds()),
                          cell.allocator == "glibc" ? cell.workload->report : kNone});
  }
  table.remark =
      "Time of a run per request: malloc and free, insert, or word. Threads / processes: time of "
      "threads over that of the fastest shape with as many workers in several processes, median of "
      "pairs of runs in turn and its 95 % interval; above 1 processes are faster. The report's "
      "figures are speed-ups of teams over threads on 72 cores; fewer cores show less.";
  return table;
}

// ---- the choice ----

StudyTable choice_table(const Findings& findings) {
  StudyTable table{"The chosen processes x threads against the best measured", "", {}};
  table.rows = {{"workload", "allocator", "chosen", "predicted", "measured", "best", "measured",
                 "chosen / best", "sample"}};
  std::size_t all = 0, good = 0;
  std::string reasons;
  for (const Cell& cell : findings.cells) {
    if (!cell.chosen) continue;
    const team::Prediction& predicted = cell.chosen->predicted;
    const Series *chosen = cell.find(predicted.shape), *best = cell.best();
    if (chosen == nullptr || best == nullptr) continue;
    ++all;
    good += chosen->median() <= 1.1 * best->median();
    table.rows.push_back(
        {cell.workload->title, cell.allocator, label(predicted.shape),
         fmt::format("{} [{}, {}]", core::format_seconds(predicted.seconds),
                     core::format_seconds(predicted.low), core::format_seconds(predicted.high)),
         median_time(chosen->seconds()), label(best->shape), median_time(best->seconds()),
         fmt::format("{:.2f}", chosen->median() / best->median()),
         core::format_seconds(cell.chosen->sample_seconds)});
    if (cell.allocator == findings.cells.front().allocator)
      reasons += fmt::format(" {}: {}.", cell.workload->name, cell.chosen->reason);
  }
  table.remark = fmt::format(
      "Within 10 % of the best in {} of {} cases. The best of many noisy medians is "
      "somewhat too good. The sample is tried once, before the "
      "work.{}",
      good, all, reasons);
  return table;
}

}  // namespace

void add_tables(Study& study, const Findings& findings) {
  const auto add = [&](StudyTable table) {
    if (table.rows.size() > 1) study.tables.push_back(std::move(table));
  };
  add(one_fork_table(findings));
  add(children_table(findings));
  for (const Cell& cell : findings.cells) {
    if (cell.allocator == findings.cells.front().allocator && cell.find({1, 1}) != nullptr)
      add(scaling_table(cell, findings));
  }
  add(comparison_table(findings));
  add(choice_table(findings));
}

}  // namespace tabane::lab::process_thread
