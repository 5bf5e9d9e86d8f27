// What the study aes-folder measures: points of number of files × size × implementation × threads,
// and what is read out of their samples.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tabane/core/statistics.h"
#include "tabane/lab/studies/aes_folder_directory.h"
#include "tabane/lab/studies/aes_folder_program.h"
#include "tabane/lab/study.h"

namespace tabane::lab::aes_folder {

enum class Implementation { report_static, report_dynamic, tabane_cbc, tabane_gcm, copy };
inline constexpr std::array<Implementation, 5> kImplementations = {
    Implementation::report_static, Implementation::report_dynamic, Implementation::tabane_cbc,
    Implementation::tabane_gcm, Implementation::copy};

const char* identifier(Implementation implementation);  // "report_static"
const char* title(Implementation implementation);       // "OpenMP static"

inline constexpr unsigned kAutomatic = 0;  // tabane chooses the number of threads

// What the system says of the process, all its threads, and of the machine during a run.
struct Usage {
  double cpu_seconds = 0;
  double page_faults = 0;
  double voluntary_switches = 0, involuntary_switches = 0;
  // Of the whole machine; null: the system does not tell.
  std::optional<double> steal_seconds;     // the hypervisor ran others
  std::optional<double> cpu_wait_seconds;  // some task waited for a CPU
  std::optional<double> io_wait_seconds;   // some task waited for a device
};

struct Run {
  double seconds = 0;
  std::uint64_t order = 0;  // counts all runs of a cell
  Usage usage;
};

// Runs of one thing in a cell; run i of every series of the cell is from repetition i.
struct Series {
  Implementation implementation = Implementation::copy;
  unsigned threads = 1;
  std::vector<Run> runs;

  std::vector<double> seconds() const;
};

// All that was measured in turn on the same files.
struct Cell {
  std::uint64_t files = 0, bytes = 0;  // bytes: of each file
  std::vector<Series> series;

  // Null if absent or without runs.
  const Series* find(Implementation implementation, unsigned threads) const;
};

// "100 x 4 MiB"
std::string label(const Cell& cell);

// ---- what samples say ----

// Slow runs by Tukey's far fence: those beyond it and above the median.
std::vector<std::size_t> slow_outliers(std::span<const double> seconds);

// The mean of the runs that are no slow outliers.
double normal_mean(std::span<const double> seconds);

// The series of an implementation with the least mean among imposed numbers of threads; null if
// there are no runs.
const Series* best(const Cell& cell, Implementation implementation);

// ---- measuring ----

// What the measuring functions share.
struct Bench {
  Scratch& scratch;
  const FolderKey& key;
  std::function<bool()> stop_requested;
};

// Runs once, with the output directory empty before and after; the time is of the work alone.
// threads: kAutomatic only for tabane's own. throws: Stopped; as the implementation.
Run run_once(Bench& bench, Implementation implementation, unsigned threads);

// Calls work between readings of clock and counters, in a process without threads and memory of
// earlier runs; empties the output after it.
Run timed(Bench& bench, const std::function<void()>& work);

// Runs every implementation once and checks what it wrote: both versions of the report's program
// and tabane's CBC give the same bytes, GCM passes tabane's own verification, copies are equal.
// throws: core::VerificationError; Stopped.
void check_outputs(Bench& bench, const Cell& cell, unsigned threads);

struct Effort {
  unsigned most_runs = 0;     // of each series
  unsigned fewest_runs = 0;   // even when the budget is spent
  double budget_seconds = 0;  // of a cell; infinite: all runs
};

// Calls run(i) for all i < count in an order drawn anew in each repetition, after one repetition
// that is not counted; add(i, run) gets the runs of whole repetitions, `repetition` the share of
// the effort that is spent.
void interleave(std::size_t count, const Effort& effort, const std::function<Run(std::size_t)>& run,
                const std::function<void(std::size_t, Run)>& add,
                const std::function<void(double share)>& repetition);

// Measures all series of a cell in turn. throws: Stopped, with whole repetitions in the cell.
void measure_cell(Bench& bench, Cell& cell, const Effort& effort,
                  const std::function<void(double share)>& repetition);

// ---- causes ----

// One cell's time taken apart: the report's program without one thing after the other, and with
// single changes.
struct Causes {
  std::uint64_t files = 0, bytes = 0;
  unsigned threads = 0;
  std::vector<std::string> names;      // of the variants; the first is the program itself
  std::vector<std::vector<Run>> runs;  // [variant][repetition]
  std::size_t removals = 0;            // variants 0 … removals - 1 remove more and more
};

// throws: as measure_cell().
void measure_causes(Bench& bench, Causes& causes, const Effort& effort,
                    const std::function<void(double share)>& repetition);

// ---- what is shown ----

StudyTable best_threads_table(const std::vector<Cell>& cells, std::uint64_t files);
StudyTable limit_table(const std::vector<Cell>& cells, unsigned pus);
StudyTable outlier_table(const std::vector<Cell>& cells);
StudyTable implementations_table(const std::vector<Cell>& cells);
StudyTable coincidence_table(const std::vector<Cell>& cells);
StudyTable removal_table(const std::vector<Causes>& causes);
StudyTable change_table(const std::vector<Causes>& causes);

// Results with all samples, and the tables that the figures are drawn from.
void record_cells(SurveyRecord& record, const std::vector<Cell>& cells, unsigned pus);
void record_causes(SurveyRecord& record, const std::vector<Causes>& causes);

}  // namespace tabane::lab::aes_folder
