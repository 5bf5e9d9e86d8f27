// tabane simulate: machines whose time is simulated, and what a change of them would be worth.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tabane/comm/machine.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/lab/record/json.h"
#include "tabane/program/command.h"
#include "tabane/program/layout.h"
#include "tabane/program/output.h"
#include "tabane/tools/simulate/halo.h"

namespace tabane::program {
namespace {

using comm::sim::Machine;
using simulate::Halo;
using simulate::HaloTimes;

struct SimulateOptions {
  std::string machine;
  std::vector<std::string> changes;
  bool parameters = false;
  Halo halo;
  JsonOption json;
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

bool can_change(Machine machine, const std::string& change) {
  try {
    comm::sim::scale(machine, change);
  } catch (const core::UsageError&) {
    return false;
  }
  return true;
}

// Without changes, those that a buyer of this machine may think of.
std::vector<std::string> changes_of(const SimulateOptions& options, const Machine& machine) {
  std::vector<std::string> changes{""};
  if (options.changes.empty()) {
    for (const char* const change : {"setup=0.5", "byte=0.5", "compute=0.5"}) {
      if (can_change(machine, change)) changes.push_back(change);
    }
  }
  changes.insert(changes.end(), options.changes.begin(), options.changes.end());
  return changes;
}

void print_head(const Machine& machine, const Halo& halo) {
  fmt::print(
      "{}, {}x{} ranks: a step of a halo exchange on {} x {} points, with {} sums\n\n"
      "{:<24} {:>10} {:>13} {:>9} {:>8}\n",
      machine.name, machine.rows, machine.columns, halo.side, halo.side, halo.sums, "machine",
      "step", "computing", "speedup", "faster");
}

// Each row is printed as soon as it is known, so that Ctrl-C loses none.
void print_row(const std::string& change, const HaloTimes& times, const HaloTimes& first) {
  fmt::print("{:<24} {:>10} {:>11.0f} % {:>9.1f} {:>8.2f}\n", change.empty() ? "as it is" : change,
             core::format_seconds(times.seconds), 100 * times.computing, times.speedup,
             times.seconds == first.seconds ? 1 : first.seconds / times.seconds);
  std::fflush(stdout);
}

lab::Json json_of(const std::string& change, const HaloTimes& times) {
  return {{"changes", change},
          {"seconds_per_step", times.seconds},
          {"computing_share", times.computing},
          {"speedup", times.speedup}};
}

int run(const SimulateOptions& options) {
  if (options.machine.empty()) {
    if (!options.changes.empty() || options.parameters || options.json.given()) {
      throw core::UsageError("name the machine, as in 'tabane simulate ap1000:16x16'");
    }
    print_presets();
    return kOk;
  }
  if (options.parameters) {
    Machine machine = comm::sim::machine_named(options.machine, 0);
    for (const std::string& change : options.changes) comm::sim::scale(machine, change);
    fmt::print("{}", machine.format());
    return kOk;
  }
  options.json.check();
  const Machine machine = comm::sim::machine_named(options.machine, 0);
  for (const std::string& change : options.changes) {  // before anything is simulated
    Machine changed = machine;
    comm::sim::scale(changed, change);
  }
  const bool as_text = !options.json.to_stdout();
  const Halo& halo = options.halo;
  HaloTimes first;
  lab::Json rows = lab::Json::array();
  for (const std::string& change : changes_of(options, machine)) {
    const HaloTimes times = simulate::simulate_halo(options.machine, change, halo);
    if (change.empty()) first = times;
    if (as_text && change.empty()) print_head(machine, halo);
    if (as_text) print_row(change, times, first);
    rows.push_back(json_of(change, times));
  }
  options.json.write({{"schema_version", 1},
                      {"machine", machine.format()},
                      {"ranks", machine.ranks()},
                      {"mesh_side", halo.side},
                      {"steps", halo.steps},
                      {"sums", halo.sums},
                      {"rows", rows}});
  return kOk;
}

Definition define() {
  const auto options = std::make_shared<SimulateOptions>();
  return {{{"MACHINE", &options->machine,
            "A machine that 'tabane simulate' lists, or a file, perhaps with a shape: "
            "ap1000:16x16"},
           {"--set WHAT=FACTOR,...", &options->changes,
            "Also simulate the machine with such changes: of a parameter, or of setup, byte or hop "
            "in all messages; may be repeated (default: some, each alone)"},
           {"--parameters", &options->parameters,
            "Print the machine's parameters, with all changes, as a file to edit"},
           {"-n,--side N",
            &options->halo.side,
            "Points on each side of the mesh (default 400)",
            {.range = {1, 100'000}}},
           {"--steps N",
            &options->halo.steps,
            "Steps to simulate (default 10)",
            {.range = {1, 1'000'000}}},
           {"--sums N",
            &options->halo.sums,
            "Sums over all ranks in each step (default 2)",
            {.range = {0, 1000}}},
           options->json.row()},
          [options](const Given&) { return run(*options); }};
}

}  // namespace

extern constinit const Verb simulate_verb{
    .name = "simulate",
    .what = "Say what a machine that you do not have would take",
    .group = "Measure",
    .examples =
        "  tabane simulate                          lists the machines\n"
        "  tabane simulate ap1000:16x16             a halo exchange there, and if it were faster\n"
        "  tabane simulate ap1000:16x32 --set setup=0.1,byte=0.1 --set barrier=10\n"
        "  tabane simulate ap1000:8x8 --parameters >mine.txt   a machine of your own to edit",
    .define = define};

}  // namespace tabane::program
