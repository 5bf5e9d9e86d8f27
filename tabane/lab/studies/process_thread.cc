#include "tabane/lab/studies/process_thread.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <numeric>
#include <random>

#include "tabane/core/cgroup.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/lab/environment.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/studies/process_thread_data.h"
#include "tabane/lab/version.h"

namespace tabane::lab {
namespace process_thread {
namespace {

constexpr std::uint64_t kMi = std::uint64_t{1} << 20;

// What is measured how long. Times of one worker grow with the machine, so that the shares of its
// many workers are still long against a fork.
struct Plan {
  std::vector<const Workload*> workloads;
  std::vector<std::string> allocators;
  std::vector<Shape> shapes, few_shapes;  // few: for allocators that are only compared
  std::size_t tasks = 64;
  double one_worker_seconds = 0.3;
  unsigned most_runs = 50, fewest_runs = 5;
  double budget_seconds = 36;  // of a workload
  std::uint64_t text_bytes = 64 * kMi;
  std::vector<std::uint64_t> fork_bytes;
  double fork_budget_seconds = 0.5;  // of each of its points
  std::size_t fewest_forks = 6;
  int pus = 1;
};

// Processes ask for what a system may refuse long before the machine is full.
constexpr unsigned kMostRuns = 100'000;

std::vector<Shape> comparison_shapes(int pus) {
  std::vector<Shape> shapes = {{1, 1}, {1, pus}, {pus, 1}};
  if (const auto team = report_team(pus)) shapes.push_back(*team);
  std::sort(shapes.begin(), shapes.end());
  shapes.erase(std::unique(shapes.begin(), shapes.end()), shapes.end());
  return shapes;
}

std::vector<std::uint64_t> fork_sizes(bool quick) {
  const auto usable = core::usable_memory_bytes();
  // Preparing may need as much again for a while.
  const double most = std::min(usable ? *usable / 4 : 0.0, quick ? 256.0 * kMi : 4096.0 * kMi);
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = kMi; static_cast<double>(bytes) <= most; bytes *= quick ? 16 : 4)
    sizes.push_back(bytes);
  return sizes;
}

Plan make_plan(const core::Topology& topology, const ProcessThreadOptions& options,
               const ProcessThreadMeters& meters) {
  Plan plan;
  plan.pus = static_cast<int>(topology.pus().size());
  for (const std::string& name : options.workloads) plan.workloads.push_back(&find_workload(name));
  if (options.workloads.empty()) {
    for (const Workload& workload : workloads()) plan.workloads.push_back(&workload);
  }
  plan.allocators = options.allocators.empty() ? meters.allocators : options.allocators;
  plan.shapes = plan_shapes(plan.pus);
  plan.few_shapes = options.quick ? comparison_shapes(plan.pus) : plan.shapes;
  plan.tasks = static_cast<std::size_t>(std::max(64, 8 * plan.pus));
  const double growth = std::sqrt(std::max(1.0, plan.pus / 2.0));
  plan.one_worker_seconds = (options.quick ? 0.1 : 0.3) * growth;
  if (options.quick) {
    plan.most_runs = 10;
    plan.fewest_runs = 3;
    plan.budget_seconds = 4;
    plan.text_bytes = 6 * kMi;
    plan.fork_budget_seconds = 0.1;
    plan.fewest_forks = 3;
  }
  if (options.runs > 0) plan.most_runs = plan.fewest_runs = options.runs;
  if (options.text_bytes > 0) plan.text_bytes = options.text_bytes;
  plan.fork_bytes = fork_sizes(options.quick);
  return plan;
}

void check_options(const ProcessThreadOptions& options) {
  if (options.runs > kMostRuns)
    throw core::UsageError(fmt::format("--runs {}: at most {}", options.runs, kMostRuns));
  if (options.text_bytes > (std::uint64_t{1} << 40))
    throw core::UsageError("--text-size: at most 1T");
  if (options.text_bytes > 0 && !options.text_directory.empty())
    throw core::UsageError("--text-size and --text exclude each other");
}

// ---- meters ----

Json ask(const ProcessThreadMeters::Ask& meter, const Json& request) {
  Json answer = meter(request);
  if (!answer.contains("error")) return answer;
  const auto what = answer["error"].get<std::string>();
  const auto kind = answer["kind"].get<std::string>();
  if (kind == "verification") throw core::VerificationError(what, 1, 0);
  if (kind == "usage") throw core::UsageError(what);
  throw core::Error(what);
}

class Progress {
 public:
  Progress(const SurveyHooks& hooks, double planned) : hooks_(hooks), planned_(planned) {}
  // throws: Stopped if the user asked to.
  void show(const std::string& what, double share_of_part = 0) {
    if (hooks_.stop_requested()) throw Stopped();
    const double done = std::min(1.0, finished_ + part_ * share_of_part);
    hooks_.progress(what, done, planned_ * (1 - done));
  }
  void begin_part(double seconds) {
    finished_ += part_;
    part_ = seconds / planned_;
  }

 private:
  const SurveyHooks& hooks_;
  double planned_, finished_ = 0, part_ = 0;
};

struct Bench {
  const Plan& plan;
  const ProcessThreadOptions& options;
  const ProcessThreadMeters& meters;
  Progress progress;
  SurveyRecord& record;
};

struct Metered {
  std::string allocator;
  ProcessThreadMeters::Ask meter;
};

// The meters of all allocators that can be had; says why others cannot.
std::vector<Metered> start_meters(Bench& bench) {
  std::vector<Metered> started;
  for (const std::string& allocator : bench.plan.allocators) {
    std::string why;
    try {
      Metered metered{allocator, bench.meters.start(allocator)};
      const auto there = ask(metered.meter, {{"do", "hello"}})["allocator"].get<std::string>();
      if (there == allocator) {
        started.push_back(std::move(metered));
        continue;
      }
      why = "its process runs with " + there + " instead";
    } catch (const core::UsageError& error) {
      why = error.what();
    }
    const auto& all = bench.record.skipped;
    const bool known = std::any_of(all.begin(), all.end(),
                                   [&](const Skipped& one) { return one.name == allocator; });
    if (!known) bench.record.skipped.push_back({allocator, why});
  }
  return started;
}

// ---- workloads ----

Json run_request(Shape shape) {
  return {{"do", "run"}, {"processes", shape.processes}, {"threads", shape.threads}};
}

bool counts_words(const Workload& workload) { return std::string(workload.name) == "words"; }

Json prepare_request(const Bench& bench, const Workload& workload, std::size_t requests) {
  // Large pieces of text: each has most of the frequent words, which are then merged.
  const std::size_t tasks = counts_words(workload) ? bench.plan.tasks / 4 : bench.plan.tasks;
  return {{"do", "prepare"},
          {"workload", workload.name},
          {"tasks", tasks},
          {"requests", requests},
          {"text_bytes", bench.plan.text_bytes},
          {"text_directory", bench.options.text_directory}};
}

// Prepares so many requests of a task that one worker is busy for the planned time. Returns those
// of all tasks.
double prepare_fitting(Bench& bench, const Workload& workload,
                       const ProcessThreadMeters::Ask& meter) {
  if (counts_words(workload)) return ask(meter, prepare_request(bench, workload, 0))["words"];
  double requests = 20;
  for (int step = 0; step < 8; ++step) {
    ask(meter, prepare_request(bench, workload, static_cast<std::size_t>(requests)));
    const auto seconds = ask(meter, run_request({1, 1}))["seconds"].get<double>();
    const double factor = bench.plan.one_worker_seconds / std::max(seconds, 1e-6);
    if (factor > 0.7 && factor < 1.4) break;
    requests = std::max(1.0, std::floor(requests * std::min(factor, 30.0)));
  }
  ask(meter, prepare_request(bench, workload, static_cast<std::size_t>(requests)));
  return requests * static_cast<double>(bench.plan.tasks);
}

Chosen chosen_of(const Json& answer) {
  const Json& choice = answer.at("choice");
  Chosen chosen;
  chosen.predicted = {.shape = {choice["processes"].get<int>(), choice["threads"].get<int>()},
                      .seconds = choice["predicted_s"],
                      .low = choice["predicted_low_s"],
                      .high = choice["predicted_high_s"]};
  chosen.reason = choice["reason"];
  chosen.sample_seconds = choice["sample_s"];
  chosen.fork_seconds = choice["fork_s"];
  chosen.total_seconds = answer["seconds"];
  return chosen;
}

Run run_once(const ProcessThreadMeters::Ask& meter, Shape shape) {
  const Json answer = ask(meter, run_request(shape));
  // A team never has more processes than tasks; the plan does not ask for that.
  return {.seconds = answer["seconds"],
          .fork_seconds = answer["fork_seconds"],
          .join_seconds = answer["join_seconds"]};
}

// Repetitions of all series of all cells, in an order drawn anew in each.
void measure_rounds(Bench& bench, std::vector<Cell>& cells, const std::vector<Metered>& meters) {
  struct Item {
    std::size_t cell, series;
  };
  std::vector<Item> order;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    for (std::size_t s = 0; s < cells[c].series.size(); ++s) order.push_back({c, s});
  }
  std::mt19937 random(72);
  std::uint64_t counted = 0;
  const double begin = core::tick_clock().now();
  const Plan& plan = bench.plan;
  for (unsigned n = 0; n < plan.most_runs; ++n) {
    const double spent = (core::tick_clock().now() - begin) / plan.budget_seconds;
    if (n >= plan.fewest_runs && (spent >= 1 || bench.options.runs > 0)) break;
    std::shuffle(order.begin(), order.end(), random);
    std::vector<Run> runs;
    for (const Item& item : order) {
      const double least = static_cast<double>(n) / plan.fewest_runs;
      bench.progress.show(cells[0].workload->name, std::min({1.0, least, spent}));
      runs.push_back(run_once(meters[item.cell].meter, cells[item.cell].series[item.series].shape));
      runs.back().order = counted++;
    }
    // Whole repetitions only: then run i of all series belongs together.
    for (std::size_t i = 0; i < order.size(); ++i)
      cells[order[i].cell].series[order[i].series].runs.push_back(runs[i]);
  }
}

void measure_workload(Bench& bench, const Workload& workload, Findings& findings) {
  bench.progress.show(workload.name);
  const std::vector<Metered> meters = start_meters(bench);
  if (meters.empty()) throw core::UsageError("none of the allocators can be used here");
  std::vector<Cell> cells;
  for (std::size_t i = 0; i < meters.size(); ++i) {
    Cell cell{.workload = &workload, .allocator = meters[i].allocator};
    cell.requests = prepare_fitting(bench, workload, meters[i].meter);
    bench.progress.show(workload.name);
    cell.chosen = chosen_of(ask(meters[i].meter, run_request({0, 0})));
    std::vector<Shape> shapes = i == 0 ? bench.plan.shapes : bench.plan.few_shapes;
    shapes.push_back(cell.chosen->predicted.shape);
    std::sort(shapes.begin(), shapes.end());
    shapes.erase(std::unique(shapes.begin(), shapes.end()), shapes.end());
    for (Shape shape : shapes) cell.series.push_back({shape, {}});
    cells.push_back(std::move(cell));
  }
  const auto keep = [&] {
    for (Cell& cell : cells) findings.cells.push_back(std::move(cell));
  };
  try {
    measure_rounds(bench, cells, meters);
  } catch (const Stopped&) {
    keep();
    throw;
  }
  keep();
}

// ---- forks ----

ForkPoint fork_point(const Json& answer, std::uint64_t bytes, std::uint64_t piece, bool prepared) {
  return {.bytes = bytes,
          .piece_bytes = piece,
          .prepared = prepared,
          .small_page_bytes = answer["small_page_bytes"],
          .huge_page_bytes = answer["huge_page_bytes"],
          .one = answer["one"],
          .serial = answer["serial"],
          .tree = answer["tree"],
          .threads = answer["threads"]};
}

void measure_fork_points(Bench& bench, Findings& findings) {
  const auto meter = bench.meters.start(bench.meters.allocators.at(0));
  const auto& sizes = bench.plan.fork_bytes;
  const std::uint64_t pieces[] = {4096, 2 * kMi, 0};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    for (std::uint64_t piece : pieces) {
      bench.progress.show("forks of " + core::format_bytes(sizes[i]),
                          static_cast<double>(i) / static_cast<double>(sizes.size()));
      if (piece > sizes[i]) continue;
      const Json answer = ask(meter, {{"do", "forks"},
                                      {"bytes", sizes[i]},
                                      {"piece_bytes", piece},
                                      {"fewest", bench.plan.fewest_forks},
                                      {"budget_s", bench.plan.fork_budget_seconds}});
      findings.forks.push_back(fork_point(answer["as_allocated"], sizes[i], piece, false));
      if (answer.contains("prepared"))
        findings.forks.push_back(fork_point(answer["prepared"], sizes[i], piece, true));
    }
  }
}

bool measure(Bench& bench, Findings& findings) {
  const double fork_seconds =
      6 * bench.plan.fork_budget_seconds * static_cast<double>(bench.plan.fork_bytes.size());
  try {
    bench.progress.begin_part(fork_seconds);
    measure_fork_points(bench, findings);
    for (const Workload* workload : bench.plan.workloads) {
      bench.progress.begin_part(bench.plan.budget_seconds);
      measure_workload(bench, *workload, findings);
    }
  } catch (const Stopped&) {
    return false;
  }
  return true;
}

double planned_seconds(const Plan& plan) {
  return 6 * plan.fork_budget_seconds * static_cast<double>(plan.fork_bytes.size()) +
         plan.budget_seconds * static_cast<double>(plan.workloads.size());
}

std::string command_line(const ProcessThreadOptions& options) {
  std::string line = "tabane study process-thread";
  if (options.quick) line += " --quick";
  if (!options.workloads.empty())
    line += fmt::format(" --workloads {}", fmt::join(options.workloads, ","));
  if (!options.allocators.empty())
    line += fmt::format(" --malloc {}", fmt::join(options.allocators, ","));
  if (options.runs > 0) line += fmt::format(" --runs {}", options.runs);
  if (options.text_bytes > 0) line += fmt::format(" --text-size {}", options.text_bytes);
  if (!options.text_directory.empty()) line += " --text " + options.text_directory;
  return line;
}

std::string words_sentence(const Plan& plan, const ProcessThreadOptions& options) {
  return fmt::format("words counts [A-Za-z]+ without regard to case in {}.",
                     options.text_directory.empty()
                         ? fmt::format("{} of generated text with Zipf's frequencies",
                                       core::format_bytes(plan.text_bytes))
                         : "the files of " + options.text_directory);
}

}  // namespace
}  // namespace process_thread

Study run_process_thread(const core::Topology& topology, const ProcessThreadOptions& options,
                         const ProcessThreadMeters& meters, const SurveyHooks& hooks) {
  using namespace process_thread;
  check_options(options);
  if (!topology.is_this_machine())
    throw core::UsageError(
        "the topology is not that of this machine (HWLOC_SYNTHETIC or HWLOC_XMLFILE is set), so "
        "nothing can be measured on it; unset the variable");
  const Plan plan = make_plan(topology, options, meters);
  Study study{.name = "process-thread",
              .title = "Teams of processes and threads at allocation-heavy work",
              .source =
                  "Report on teams of processes and threads made by a tree of forks (4 x Xeon "
                  "E7-8880 v3, 72 cores)",
              .tables = {},
              .record = {}};
  SurveyRecord& record = study.record;
  record.tabane_version = version();
  record.started = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
  record.command_line = command_line(options);
  record.quick = options.quick;
  record.machine = describe_machine(topology);
  record.environment = read_environment();
  Findings findings;
  findings.pus = plan.pus;
  Bench bench{plan, options, meters, Progress(hooks, planned_seconds(plan)), record};
  const double start = core::tick_clock().now();
  record.complete = measure(bench, findings);
  record.duration_s = core::tick_clock().now() - start;
  record.sentences.push_back(words_sentence(plan, options));
  add_record(record, findings);
  add_tables(study, findings);
  return study;
}

}  // namespace tabane::lab
