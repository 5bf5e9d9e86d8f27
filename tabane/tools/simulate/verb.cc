// tabane simulate: machines whose time is simulated, and what a change of them would be worth.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "tabane/comm/machine.h"
#include "tabane/core/error.h"
#include "tabane/lab/study/simulation.h"
#include "tabane/program/command.h"
#include "tabane/program/layout.h"
#include "tabane/program/output.h"
#include "tabane/program/run_study.h"
#include "tabane/tools/simulate/from_survey.h"
#include "tabane/tools/simulate/halo.h"

namespace tabane::program {
namespace {

using comm::sim::Machine;
using simulate::Halo;

struct SimulateOptions : StudyOptions {
  std::string machine, survey;
  std::vector<std::string> changes;
  bool parameters = false, quick = false;
  Halo halo;
};

void print_presets() {
  std::vector<std::vector<std::string>> rows{{"machine", "what it is"}};
  for (const comm::sim::Preset& preset : comm::sim::presets()) {
    rows.push_back({std::string(preset.name), std::string(preset.what)});
  }
  fmt::print(
      "{}\nWith a shape, as in {}:16x16, tabane simulate says what a halo exchange takes "
      "there.\n",
      fit_table(rows, layout_width(STDOUT_FILENO)), comm::sim::presets().front().name);
}

// Returns false if a machine is to be simulated.
bool has_printed(const SimulateOptions& options) {
  if (!options.survey.empty()) {
    const lab::Record survey = read_record(options.survey);
    std::string text = simulate::machine_from(survey, {});  // refuses before anything is measured
    if (simulate::is_of_this_machine(survey)) {
      const int cores = survey.machine.at("cores").get<int>();
      text = simulate::machine_from(survey, simulate::measure_rates(cores));
    }
    fmt::print("{}", text);
    return true;
  }
  if (options.machine.empty()) {
    if (!options.changes.empty() || options.parameters || options.json.given()) {
      throw core::UsageError("name the machine, as in 'tabane simulate ap1000:16x16'");
    }
    print_presets();
    return true;
  }
  if (!options.parameters) return false;
  Machine machine = comm::sim::machine_named(options.machine, 0);
  for (const std::string& change : options.changes) comm::sim::scale(machine, change);
  fmt::print("{}", machine.format());
  return true;
}

lab::Record run(const core::Topology& topology, const SimulateOptions& options,
                const lab::Hooks& hooks) {
  const Machine machine = comm::sim::machine_named(options.machine, 0);
  const Halo& halo = options.halo;
  const std::string title = fmt::format("A halo exchange on {} x {} points, with {} sums a step",
                                        halo.side, halo.side, halo.sums);
  const std::string source =
      fmt::format("{}, {} x {} ranks", machine.name, machine.rows, machine.columns);
  return lab::simulate(topology,
                       {.about = {"simulate", title.c_str(), source.c_str()},
                        .what = "a step",
                        .machine = options.machine,
                        .changes = options.changes,
                        .quick = options.quick,
                        .times = static_cast<double>(halo.steps),
                        .run =
                            [&](const std::string& name, const std::string& changes) {
                              return simulate::simulate_halo(name, changes, halo,
                                                             [&] { hooks.throw_if_stopped(); });
                            }},
                       hooks);
}

Definition define() {
  const auto options = std::make_shared<SimulateOptions>();
  std::vector<Option> rows{
      {"MACHINE", &options->machine,
       "A machine that 'tabane simulate' lists, or a file, perhaps with a shape: ap1000:16x16"},
      {"--set WHAT=FACTOR,...",
       &options->changes,
       "Also simulate the machine with such changes: of a parameter, or of setup, byte or hop in "
       "all messages; may be repeated (default: several, each alone)",
       {.excludes = {"--quick"}}},
      {"--parameters",
       &options->parameters,
       "Print the machine's parameters, with all changes, as a file to edit",
       {.excludes = {"--output", "--json"}}},
      {"--from FILE",
       &options->survey,
       "Print a machine file of the computer that a survey was taken on; FILE: its survey.json",
       {.excludes = {"MACHINE", "--set", "--parameters", "--output", "--json", "--side", "--steps",
                     "--sums", "--quick"}}},
      {"-n,--side N",
       &options->halo.side,
       "Exchange the sides of a mesh of N x N points (default 400)",
       {.range = {1, 100'000}}},
      {"--steps N",
       &options->halo.steps,
       "Steps to simulate (default 10)",
       {.range = {1, 1'000'000}}},
      {"--sums N",
       &options->halo.sums,
       "Sums over all ranks in each step (default 2)",
       {.range = {0, 1000}}}};
  return study(
      options,
      table(
          std::move(rows),
          options->rows(options->quick, "Simulate only the machine as it is, with all its ranks")),
      [options](const core::Topology& topology, const lab::Hooks& hooks) {
        return run(topology, *options, hooks);
      },
      [options] { return has_printed(*options); });
}

}  // namespace

extern constinit const Verb simulate_verb{
    .name = "simulate",
    .what = "Say how long a halo exchange would take on a machine that you do not have",
    .group = "Measure",
    .examples =
        "  tabane simulate                          lists the machines\n"
        "  tabane simulate ap1000:16x16             a halo exchange there, and if it were faster\n"
        "  tabane simulate ap1000:16x32 --set setup=0.1,byte=0.1 --set barrier=10\n"
        "  tabane simulate ap1000:8x8 --parameters >mine.txt   a machine of your own to edit\n"
        "  tabane simulate --from tabane-report/survey.json >this.txt   this computer",
    .define = define};

}  // namespace tabane::program
