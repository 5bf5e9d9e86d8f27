#include "tabane/lab/studies/aes_folder.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <latch>
#include <limits>
#include <system_error>
#include <thread>

#include "tabane/core/cgroup.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/lab/environment.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/version.h"
#include "tabane/workloads/aes_dir/sealed_format.h"

namespace tabane::lab {
namespace aes_folder {
namespace {

constexpr std::uint64_t kKi = 1024, kMi = 1024 * 1024;

// What is going to be measured.
struct Plan {
  std::vector<Cell> cells;  // small files first
  std::vector<Causes> causes;
  Effort effort;
  unsigned pus = 1;
  std::vector<Skipped> skipped;
};

template <class T>
std::vector<T> sorted_unique(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

// How many threads the system lets this process have at once, up to `wanted`: OpenMP ends the
// program where it cannot start one.
unsigned possible_threads(unsigned wanted) {
  std::latch all_started(1);
  std::vector<std::thread> threads;
  try {
    while (threads.size() + 1 < wanted) threads.emplace_back([&] { all_started.wait(); });
  } catch (const std::system_error&) {
    // Not all of what was possible: others need some, too.
    wanted = static_cast<unsigned>(threads.size());
  }
  all_started.count_down();
  for (std::thread& thread : threads) thread.join();
  return std::max(wanted, 1u);
}

std::vector<unsigned> default_threads(unsigned pus, bool quick) {
  std::vector<unsigned> threads = {pus};
  for (unsigned t = 1; t <= 2 * pus; t *= 2) threads.push_back(t);
  if (!quick) threads.insert(threads.end(), {10, 20, 50, 100});
  return threads;
}

std::vector<unsigned> plan_threads(const AesFolderOptions& options, unsigned pus,
                                   std::vector<Skipped>& skipped) {
  std::vector<unsigned> threads =
      options.threads.empty() ? default_threads(pus, options.quick) : options.threads;
  threads.push_back(pus);  // the limit and the report's program beside tabane's own choice
  threads = sorted_unique(std::move(threads));
  const unsigned possible = possible_threads(threads.back());
  std::erase_if(threads, [&](unsigned t) {
    if (t <= possible) return false;
    skipped.push_back({fmt::format("{} threads", t),
                       fmt::format("the system lets this process start {} only", possible)});
    return true;
  });
  if (threads.empty()) threads.push_back(possible);
  return threads;
}

std::vector<Series> plan_series(const std::vector<unsigned>& threads) {
  std::vector<Series> series;
  for (Implementation implementation : kImplementations) {
    for (unsigned t : threads) series.push_back({implementation, t, {}});
  }
  series.push_back({Implementation::tabane_cbc, kAutomatic, {}});
  series.push_back({Implementation::tabane_gcm, kAutomatic, {}});
  return series;
}

void check_options(const AesFolderOptions& options) {
  const auto reject = [](const char* flag, auto value, const char* legal) {
    throw core::UsageError(fmt::format("{} {}: {}", flag, value, legal));
  };
  for (std::uint64_t files : options.files)
    if (files < 1 || files > 1'000'000) reject("--files", files, "from 1 to 1000000");
  for (std::uint64_t bytes : options.sizes)
    if (bytes > (std::uint64_t{1} << 32)) reject("--sizes", bytes, "at most 4G");
  for (unsigned threads : options.threads)
    if (threads < 1 || threads > 4096) reject("--threads", threads, "from 1 to 4096");
  if (options.runs > 100'000) reject("--runs", options.runs, "at most 100000");
}

// Bytes that a cell takes at once: what the file system holds, and buffers of all threads.
struct Needed {
  std::uint64_t in_files, in_memory;
};
Needed needed(const Cell& cell, unsigned most_threads) {
  const std::uint64_t page = 4096;
  const std::uint64_t file = (cell.bytes + page - 1) / page * page;
  const std::uint64_t sealed =
      (workloads::aes_dir::sealed_bytes(cell.bytes) + page - 1) / page * page;
  return {cell.files * (file + sealed + 2 * page),
          2 * std::min<std::uint64_t>(most_threads, cell.files) * (cell.bytes + page)};
}

// Takes out the cells that do not fit.
void keep_what_fits(Plan& plan, const Place& place, unsigned most_threads) {
  const auto memory = core::usable_memory_bytes();
  std::erase_if(plan.cells, [&](const Cell& cell) {
    const Needed need = needed(cell, most_threads);
    const std::uint64_t in_memory = need.in_memory + (place.in_memory ? need.in_files : 0);
    // An eighth more than is known to be needed: for the rest of the program and the system.
    const bool files_fit = need.in_files <= place.free_bytes / 8 * 7;
    const bool memory_fits = !memory || static_cast<double>(in_memory) <= *memory / 8 * 7;
    if (files_fit && memory_fits) return false;
    plan.skipped.push_back(
        {label(cell),
         files_fit
             ? fmt::format("needs {} of memory and {} can be used", core::format_bytes(in_memory),
                           core::format_bytes(static_cast<std::uint64_t>(*memory)))
             : fmt::format("needs {} in {}, where {} are free", core::format_bytes(need.in_files),
                           place.directory, core::format_bytes(place.free_bytes))});
    return true;
  });
  if (plan.cells.empty())
    throw core::UsageError("nothing fits: " + plan.skipped.back().name + " " +
                           plan.skipped.back().reason + "; choose smaller --files and --sizes");
}

Effort plan_effort(const AesFolderOptions& options) {
  if (options.runs > 0)
    return {.most_runs = options.runs,
            .fewest_runs = options.runs,
            .budget_seconds = std::numeric_limits<double>::infinity()};
  if (options.quick) return {.most_runs = 10, .fewest_runs = 6, .budget_seconds = 3};
  return {.most_runs = 100, .fewest_runs = 10, .budget_seconds = 30};
}

Plan make_plan(const core::Topology& topology, const AesFolderOptions& options,
               const Place& place) {
  Plan plan;
  plan.effort = plan_effort(options);
  const std::vector<unsigned> threads =
      plan_threads(options, static_cast<unsigned>(topology.pus().size()), plan.skipped);
  plan.pus = std::min(static_cast<unsigned>(topology.pus().size()), threads.back());
  auto sizes = sorted_unique(options.sizes);
  if (sizes.empty() && options.quick) sizes = {128, 4 * kKi, 64 * kKi, kMi, 4 * kMi};
  if (sizes.empty()) sizes = {128, kKi, 4 * kKi, 16 * kKi, 64 * kKi, 256 * kKi, kMi, 4 * kMi};
  auto files = sorted_unique(options.files);
  if (files.empty()) files = {10, 100};
  for (std::uint64_t bytes : sizes) {
    for (std::uint64_t count : files) plan.cells.push_back({count, bytes, plan_series(threads)});
  }
  keep_what_fits(plan, place, threads.back());
  for (const Cell& cell : plan.cells) {
    if (cell.files != files.back()) continue;
    Causes causes;
    causes.files = cell.files;
    causes.bytes = cell.bytes;
    causes.threads = plan.pus;
    plan.causes.push_back(std::move(causes));
  }
  return plan;
}

// About what one repetition of a cell takes: opening and closing, then bytes, through the report's
// program on one core; the first repetitions put this right.
double guessed_seconds(std::uint64_t files, std::uint64_t bytes, std::size_t competitors,
                       unsigned pus) {
  constexpr double kSecondsPerFile = 50e-6, kBytesPerSecond = 0.7e9, kSecondsPerRun = 1e-3;
  const double count = static_cast<double>(files);
  const double work =
      count * kSecondsPerFile + count * static_cast<double>(bytes) / kBytesPerSecond;
  return static_cast<double>(competitors) * (kSecondsPerRun + work / std::sqrt(pus));
}

double planned_seconds(const Effort& effort, double repetition) {
  const double all = effort.most_runs * repetition;
  const double fewest = effort.fewest_runs * repetition;
  return 2 * repetition + std::min(all, std::max(fewest, effort.budget_seconds));
}

// The progress of the whole study, from guesses that the time taken puts right.
class Estimate {
 public:
  Estimate(const Plan& plan, const SurveyHooks& hooks) : hooks_(hooks) {
    for (const Cell& cell : plan.cells)
      planned_.push_back(planned_seconds(
          plan.effort, guessed_seconds(cell.files, cell.bytes, cell.series.size(), plan.pus)));
    for (const Causes& causes : plan.causes)
      planned_.push_back(
          planned_seconds(plan.effort, guessed_seconds(causes.files, causes.bytes, 6, plan.pus)));
    for (double seconds : planned_) total_ += seconds;
  }
  void show(const std::string& what, double share) const {
    const double worked = finished_ + share * planned_[next_];
    const double elapsed = core::tick_clock().now() - start_;
    const double pace = worked > 1 ? elapsed / worked : 1;
    hooks_.progress(what, worked / total_, (total_ - worked) * pace);
  }
  void finish() { finished_ += planned_[next_++]; }

 private:
  const SurveyHooks& hooks_;
  std::vector<double> planned_;
  std::size_t next_ = 0;
  double total_ = 1e-9, finished_ = 0;
  double start_ = core::tick_clock().now();
};

FolderKey random_key() {
  FolderKey key;
  workloads::aes_dir::fill_random(key.key);
  workloads::aes_dir::fill_random(key.iv);
  return key;
}

// Measures everything; what is there when the user stops it stays.
bool measure(Plan& plan, const Place& place, const SurveyHooks& hooks) {
  const FolderKey key = random_key();
  Scratch scratch(place.directory);
  Bench bench{scratch, key, hooks.stop_requested};
  Estimate estimate(plan, hooks);
  try {
    for (Cell& cell : plan.cells) {
      const auto show = [&](double share) { estimate.show(label(cell), share); };
      show(0);
      scratch.fill_input(cell.files, cell.bytes);
      check_outputs(bench, cell, plan.pus);
      measure_cell(bench, cell, plan.effort, show);
      estimate.finish();
    }
    for (Causes& causes : plan.causes) {
      const auto show = [&](double share) {
        estimate.show(
            fmt::format("causes, {} x {}", causes.files, core::format_bytes(causes.bytes)), share);
      };
      show(0);
      scratch.fill_input(causes.files, causes.bytes);
      measure_causes(bench, causes, plan.effort, show);
      estimate.finish();
    }
  } catch (const Stopped&) {
    return false;
  }
  return true;
}

std::string command_line(const AesFolderOptions& options) {
  std::string line = "tabane study aes-folder";
  const auto list = [&](const char* flag, const auto& values) {
    if (!values.empty()) line += fmt::format(" {} {}", flag, fmt::join(values, ","));
  };
  if (options.quick) line += " --quick";
  list("--files", options.files);
  list("--sizes", options.sizes);
  list("--threads", options.threads);
  if (options.runs > 0) line += fmt::format(" --runs {}", options.runs);
  if (!options.directory.empty()) line += " --dir " + options.directory;
  return line;
}

std::string place_sentence(const Place& place) {
  if (!place.remark.empty()) return place.remark;
  if (place.in_memory) return fmt::format("The files are in {}, in memory.", place.directory);
  return fmt::format(
      "The files are in {}, which is not in memory: the times contain that file "
      "system and its device.",
      place.directory);
}

StudyTable skipped_table(const std::vector<Skipped>& skipped) {
  StudyTable table{"Not measured", "", {{"what", "why"}}};
  for (const Skipped& one : skipped) table.rows.push_back({one.name, one.reason});
  return table;
}

void add_tables(Study& study, const Plan& plan, const Place& place) {
  std::vector<std::uint64_t> files;
  for (const Cell& cell : plan.cells) files.push_back(cell.files);
  for (std::uint64_t count : sorted_unique(files))
    study.tables.push_back(best_threads_table(plan.cells, count));
  study.tables.push_back(limit_table(plan.cells, plan.pus));
  study.tables.back().remark += " " + place_sentence(place);
  study.tables.push_back(outlier_table(plan.cells));
  study.tables.push_back(implementations_table(plan.cells));
  study.tables.push_back(coincidence_table(plan.cells));
  study.tables.push_back(removal_table(plan.causes));
  study.tables.push_back(change_table(plan.causes));
  study.tables.push_back(skipped_table(plan.skipped));
  std::erase_if(study.tables, [](const StudyTable& table) { return table.rows.size() < 2; });
}

}  // namespace
}  // namespace aes_folder

Study run_aes_folder(const core::Topology& topology, const AesFolderOptions& options,
                     const SurveyHooks& hooks) {
  using namespace aes_folder;
  check_options(options);
  if (!topology.is_this_machine())
    throw core::UsageError(
        "the topology is not that of this machine (HWLOC_SYNTHETIC or HWLOC_XMLFILE is set), so "
        "nothing can be measured on it; unset the variable");
  const Place place = find_place(options.directory);
  Plan plan = make_plan(topology, options, place);
  Study study{.name = "aes-folder",
              .title = "Encrypting a directory, file by file",
              .source =
                  "Report on parallel AES-128-CBC over the files of a directory with OpenMP "
                  "(2 x Xeon E5-2640, Xeon Phi 5110P)",
              .tables = {},
              .record = {}};
  SurveyRecord& record = study.record;
  record.tabane_version = version();
  record.started = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
  record.command_line = command_line(options);
  record.quick = options.quick;
  record.machine = describe_machine(topology);
  record.environment = read_environment();
  const double start = core::tick_clock().now();
  record.complete = measure(plan, place, hooks);
  record.duration_s = core::tick_clock().now() - start;
  record.sentences.push_back(place_sentence(place));
  record.skipped = plan.skipped;
  record_cells(record, plan.cells, plan.pus);
  record_causes(record, plan.causes);
  add_tables(study, plan, place);
  return study;
}

}  // namespace tabane::lab
