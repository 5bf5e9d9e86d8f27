// What the study process-thread measures and what is read out of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tabane/core/statistics.h"
#include "tabane/lab/studies/process_thread.h"
#include "tabane/team/choose.h"
#include "tabane/team/scalability_law.h"

namespace tabane::lab::process_thread {

using team::Shape;

struct Workload {
  const char* name;
  const char* title;
  const char* report;      // speed-up of teams over threads at 72 workers
  double large_share = 0;  // of malloc
  double new_share = 0;    // of insertion
};
const std::vector<Workload>& workloads();
// throws: core::UsageError with the legal names.
const Workload& find_workload(const std::string& name);

struct Run {
  double seconds = 0, fork_seconds = 0, join_seconds = 0;
  std::uint64_t order = 0;  // counts all runs of a workload
};

// Run i of every series of a workload is from repetition i.
struct Series {
  Shape shape;
  std::vector<Run> runs;
  std::vector<double> seconds() const;
  double median() const { return core::median(seconds()); }
};

// What tabane chose, and what that run took with its sample.
struct Chosen {
  team::Prediction predicted;
  std::string reason;
  double sample_seconds = 0, total_seconds = 0, fork_seconds = 0;
};

// One workload with one allocator.
struct Cell {
  const Workload* workload = nullptr;
  std::string allocator;
  double requests = 0;  // in a run: malloc and free, inserts, words; so many that one worker is
                        // busy for about the same time with each allocator
  std::optional<Chosen> chosen;
  std::vector<Series> series;

  const Series* find(Shape shape) const;  // null if absent or without runs
  const Series* best() const;             // least median; null without runs
  // The fastest with so many workers in more than one process; null if there is none.
  const Series* best_team(int workers) const;
  std::optional<double> speedup(Shape shape) const;  // over 1 × 1
};

// Start and join of children over resident memory.
struct ForkPoint {
  std::uint64_t bytes = 0, piece_bytes = 0;  // piece: 0 at once
  bool prepared = false;                     // after prepare_for_fork()
  std::uint64_t small_page_bytes = 0, huge_page_bytes = 0;
  std::vector<double> one, serial, tree, threads;  // seconds; the last three: kForkChildren
};
inline constexpr int kForkChildren = 8;

struct Findings {
  int pus = 1;
  std::vector<Cell> cells;
  std::vector<ForkPoint> forks;
  std::string words_rule;  // what was counted
};

// "4 KiB pieces", "at once"
std::string pieces_label(std::uint64_t piece_bytes);
std::string label(Shape shape);  // "2 x 4"

// The shapes to measure: on small machines all of at most 2 × PUs workers; on others threads,
// processes and teams as in the report at about ten numbers of workers, and powers of two.
std::vector<Shape> plan_shapes(int pus);
// The report's team of so many workers: the fewest processes, a power of two, of at most 9 threads.
// Null if there is none.
std::optional<Shape> report_team(int workers);

// Speed-ups of shapes with one process, or with one thread each, up to the number of PUs.
std::vector<team::SpeedupPoint> speedups(const Cell& cell, bool threads_only, int most_workers);

// ---- the meter's part ----

// Runs in a child: allocates, touches, and measures forks. Returns points as JSON.
Json measure_forks(const Json& request);

// ---- what is shown ----

void add_tables(Study& study, const Findings& findings);
void add_record(SurveyRecord& record, const Findings& findings);

}  // namespace tabane::lab::process_thread
