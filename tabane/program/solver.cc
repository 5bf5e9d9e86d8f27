#include "tabane/program/solver.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "tabane/comm/collective/choice.h"
#include "tabane/comm/collectives.h"
#include "tabane/comm/machine.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/lab/study/simulation.h"
#include "tabane/program/layout.h"
#include "tabane/program/run_options.h"
#include "tabane/program/run_study.h"

namespace tabane::program {
namespace {

using solver::Solution;

std::string steps_text(const Solution& solution) {
  const comm::StepTable& steps = solution.steps;
  std::vector<std::vector<std::string>> rows{
      {"step", "mean of ranks", "slowest rank", "share of time", "times a rank"}};
  double other = solution.seconds;  // in no step, or before a rank began
  for (std::size_t step = 0; step < steps.names.size(); ++step) {
    const std::uint64_t times = steps.most_times(step);
    if (times == 0 || steps.names[step] == "other") continue;
    const double mean = steps.mean_seconds(step);
    other -= mean;
    rows.push_back({steps.names[step], core::format_seconds(mean),
                    core::format_seconds(steps.most_seconds(step)),
                    fmt::format("{:.1f} %", 100 * mean / solution.seconds),
                    fmt::format("{}", times)});
  }
  if (rows.size() == 1) return "";
  other = std::max(other, 0.0);  // rounding
  rows.push_back({"other", core::format_seconds(other), "",
                  fmt::format("{:.1f} %", 100 * other / solution.seconds), ""});
  return fit_table(rows, layout_width(STDOUT_FILENO));
}

}  // namespace

std::vector<Option> SolverOptions::rows() {
  return {{"--ranks N",
           &ranks,
           "Use N ranks (default: one per PU; under MPI all that it has)",
           {.range = {1, 4096}}},
          {"--grid RxC", &grid, "Lay the ranks out in R rows and C columns"},
          {"--transport NAME",
           &transport,
           "Send messages by shm, mpi or auto: mpi under its launcher (default auto)",
           {.choices = {"auto", "shm", "mpi"}}},
          {"--mechanisms NAME",
           &mechanisms,
           "Replace mechanisms by plain messages, to see what each is worth. messages: broadcasts, "
           "reductions and gathers; +broadcast: reductions and gathers; +global: gathers; all: "
           "none (default)",
           {.choices = {comm::kMechanismNames.begin(), comm::kMechanismNames.end()}}},
          json.row(),
          {"-q,--quiet", &quiet, "Print nothing but errors"}};
}

std::vector<Option> SolverOptions::machine_rows() {
  return {
      {"--machine MACHINE",
       &machine,
       "Solve on a simulated machine, such as ap1000:16x16 (see 'tabane simulate'): the answer "
       "is real, the time is what that machine would take",
       {.excludes = {"--transport"}}},
      {"--page DIR",
       &page,
       "With --machine: also simulate it with changes and with fewer ranks, and write a page into "
       "DIR about what each is worth and where the time goes",
       {.needs = {"--machine"}}}};
}

std::pair<int, int> pair_of(const std::string& flag, const std::string& text) {
  const std::size_t cross = text.find('x');
  const auto first = core::number_in<int>(text.substr(0, cross)),
             second = core::number_in<int>(cross == text.npos ? "" : text.substr(cross + 1));
  if (first > 0 && second > 0) return {*first, *second};
  throw core::UsageError("{}: \"{}\" is not two positive numbers such as 2x3", flag, text);
}

comm::LaunchOptions SolverOptions::launch_options() const {
  comm::LaunchOptions options{.ranks = ranks, .transport = transport_named(transport)};
  if (!grid.empty()) {
    const auto shape = pair_of("--grid", grid);
    options.grid = {shape.first, shape.second};
    const long needed = static_cast<long>(shape.first) * shape.second;
    if (ranks != 0 && ranks != needed) {
      throw core::UsageError("--grid {} has {} ranks, but --ranks says {}", grid, needed, ranks);
    }
    if (needed > 4096) throw core::UsageError("--grid: at most 4096 ranks");
    options.ranks = static_cast<int>(needed);
  }
  if (is_simulated()) {
    const comm::sim::Machine simulated = comm::sim::machine_named(machine, options.ranks);
    options.machine = machine;
    options.machine_changes = machine_changes;
    options.ranks = simulated.ranks();
    if (options.grid == comm::GridShape{}) options.grid = {simulated.rows, simulated.columns};
  } else {
    if (options.transport == comm::TransportKind::automatic) comm::require_connected_tasks();
    const bool on_shm = comm::transport_of(options) == comm::TransportKind::shm;
    if (!quiet && on_shm) options.show_placement = warn_of_turns;
  }
  options.choice_rules = comm::rules_of(comm::mechanisms_named(mechanisms));
  return options;
}

void SolverOptions::check_outputs(std::initializer_list<OutputFile> files) const {
  json.check();
  for (const OutputFile& output : files) {
    if (!output.file.empty()) require_writable_file(output.flag, output.file);
  }
}

MemoryCheck::MemoryCheck(const comm::LaunchOptions& launch,
                         std::function<void(int ranks, double bytes)> check)
    : under_mpi_(comm::transport_of(launch) == comm::TransportKind::mpi), check_(std::move(check)) {
  if (!under_mpi_) check_(comm::ranks_on_shm(launch), comm::usable_memory());
}

void MemoryCheck::on_ranks(comm::Comm& comm) const {
  if (under_mpi_) check_(comm.size(), comm::usable_memory_of_all(comm));
}

void watch(comm::Comm& comm, const SolverOptions& options) {
  if (options.recorded != nullptr) comm::record_run(comm.transport(), *options.recorded);
  comm::check_run(comm.transport(), [] {
    if (StopOnSignal::requested()) throw lab::Stopped();
  });
}

int solve_with_page(SolverOptions& options, const Given& given, const std::function<int()>& solve) {
  if (options.page.empty()) return solve();
  require_writable_directory(options.page, "--page");
  const SolverOptions as_given = options;
  const comm::sim::Machine machine =
      comm::sim::machine_named(options.machine, options.launch_options().ranks);
  const std::string command = command_line_of(given),
                    whole =
                        comm::sim::name_in_shape(options.machine, machine.rows, machine.columns),
                    source =
                        fmt::format("{}, {}x{} ranks", machine.name, machine.rows, machine.columns);
  int code = kOk;  // of all runs
  const auto run = [&](const std::string& changed, const std::string& changes) {
    comm::SimulatedRun recorded;
    options.grid = changed == whole ? as_given.grid : "";
    options.machine = changed;
    options.machine_changes = changes;
    options.recorded = &recorded;
    code = std::max(code, solve());
    return recorded;
  };
  StudyOptions study;
  study.quiet = options.quiet;
  study.tables = !options.quiet && !options.json.to_stdout();
  study.output = options.page;
  // Each run has the ranks of its machine, and says nothing.
  options.ranks = 0;
  options.quiet = true;
  options.json = {};
  const lab::Simulation simulation{.about = {"solver", command.c_str(), source.c_str()},
                                   .what = "a run",
                                   .machine = whole,
                                   .run = run};
  run_study(study, [&](const lab::Hooks& hooks) {
    lab::Record record = lab::simulate(core::Topology::detect(), simulation, hooks);
    record.command_line = command;
    return record;
  });
  options = as_given;
  return std::max(code, solve());
}

std::string solution_text(const Solution& solution, const std::string& answer) {
  std::string text = fmt::format("{}, {}", core::format_seconds(solution.seconds),
                                 core::format_value(solution.rate(), "FLOP/s"));
  if (solution.limit > 0) {
    text += fmt::format(", {:.0f} % of {} ({})", 100 * solution.rate() / solution.limit,
                        solution.limit_is, core::format_value(solution.limit, "FLOP/s"));
  }
  text += fmt::format("\nresidual {:.3g}, at most {:.3g}: {}\n", solution.check.residual,
                      solution.check.tolerance, solution.check.passed() ? "PASSED" : "FAILED");
  text += answer;
  const std::string steps = steps_text(solution);
  return steps.empty() ? text : text + "\n" + steps;
}

std::string awaited_text(int ranks) {
  return fmt::format("waiting for {} {}", ranks, ranks == 1 ? "rank" : "ranks");
}

lab::Json to_json(const Solution& solution) {
  lab::Json steps = lab::Json::array();
  for (std::size_t step = 0; step < solution.steps.names.size(); ++step) {
    lab::Json ranks = lab::Json::array();
    for (const auto& rank : solution.steps.ranks) {
      ranks.push_back({{"times", rank[step].times}, {"seconds", rank[step].seconds}});
    }
    steps.push_back({{"name", solution.steps.names[step]}, {"ranks", std::move(ranks)}});
  }
  const bool has_limit = solution.limit > 0;
  return {
      {"schema_version", 1},
      {"ranks", solution.ranks},
      {"grid", {solution.rows, solution.columns}},
      {"seconds", solution.seconds},
      {"operations", solution.operations},
      {"operations_per_second", solution.rate()},
      {"limit_operations_per_second", has_limit ? lab::Json(solution.limit) : lab::Json(nullptr)},
      {"limit", has_limit ? lab::Json(solution.limit_is) : lab::Json(nullptr)},
      {"residual", solution.check.residual},
      {"tolerance", solution.check.tolerance},
      {"passed", solution.check.passed()},
      {"steps", std::move(steps)}};
}

void report(const SolverOptions& options, std::FILE* text_to,
            const std::function<std::string()>& text, const lab::Json& json) {
  if (!options.quiet && !options.json.to_stdout()) {
    if (options.is_simulated()) {
      fmt::print(text_to, "simulated: times are those of {}\n", options.machine);
    }
    fmt::print(text_to, "{}", text());
  }
  std::fflush(text_to);
  options.json.write(json);
}

}  // namespace tabane::program
