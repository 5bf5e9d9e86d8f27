#include <fmt/format.h>
#include <sys/prctl.h>

#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "tabane/core/helper_process.h"
#include "tabane/core/units.h"
#include "tabane/lab/commands/run_plan.h"
#include "tabane/program/command.h"
#include "tabane/program/run_options.h"
#include "tabane/program/run_study.h"
#include "tabane/studies/process_thread/process_thread.h"

namespace tabane::program {
namespace {

// ---- meters: this program once more, under another allocator ----

constexpr const char* kMeterOption = "--meter";

// The library before all others that are preloaded.
core::Variables preloading(const std::string& library) {
  if (library.empty()) return {};
  const std::string others = own_variable("LD_PRELOAD").value_or("");
  return {{"LD_PRELOAD", others.empty() ? library : library + ":" + others}};
}

lab::ProcessThreadMeters meters() {
  return {.start =
              [](const std::string& allocator) {
                const std::string library =
                    find_allocator(allocator, library_directories(own_variable));
                const auto process = std::make_shared<core::HelperProcess>(core::HelperProgram{
                    .name = "a measurement with " + allocator,
                    .command = {"tabane", "study", "process-thread", kMeterOption},
                    .file = "/proc/self/exe",
                    .variables = preloading(library)});
                return [process](const lab::Json& request) {
                  process->send_line(request.dump());
                  return lab::Json::parse(process->read_line());
                };
              },
          .allocators = {"glibc", "jemalloc", "mimalloc", "tcmalloc"}};
}

// Answers requests, a line each, from standard input until its end.
void serve_meter() {
  // Ctrl-C reaches the whole group: the study decides what it means.
  std::signal(SIGINT, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const lab::ProcessThreadMeter meter = lab::process_thread_meter();
  for (std::string line; std::getline(std::cin, line);)
    std::cout << meter(lab::Json::parse(line)).dump() << std::endl;
}

// ---- the verb ----

// What the user names must be there; by default what is not installed is left out.
void check_allocators(const std::vector<std::string>& names) {
  for (const std::string& name : names) find_allocator(name, library_directories(own_variable));
}

Definition define() {
  const auto options = std::make_shared<StudyOptions>();
  const auto own = std::make_shared<lab::ProcessThreadOptions>();
  const auto meter = std::make_shared<bool>(false);  // serves a study instead
  std::vector<std::string> workloads;
  for (const auto& workload : lab::process_thread::workloads())
    workloads.emplace_back(workload.name);
  return study(
      options,
      table(
          options->rows(
              own->quick,
              "Take fewer runs, sizes and shapes; the study first says how long it takes"),
          std::vector<Option>{
              {"--workloads LIST",
               &own->workloads,
               fmt::format("Measure only some of {}", fmt::join(workloads, ", ")),
               {.commas = true}},
              {"--malloc LIST",
               &own->allocators,
               "Measure only some of glibc, jemalloc, mimalloc, tcmalloc (default: what is "
               "installed)",
               {.commas = true}},
              {"-r,--runs N",
               &own->runs,
               "Measure each point N times (default: as time allows)",
               {.range = kAboveZero}},
              {"--text-size SIZE",
               [own](const Words& sizes) { own->text_bytes = core::parse_size(sizes.back()); },
               fmt::format("Generate a text of this size (default {}M, quick {}M)",
                           own->kTextBytes >> 20, own->kQuickTextBytes >> 20)},
              {"--text DIR", &own->text_directory,
               "Count the words of all files below DIR instead of generated text"},
              {"--scale X",
               &own->scale,
               fmt::format(
                   "Mine this share of the report's 1943424 encrypted transactions (default "
                   "{}, quick {})",
                   own->kScale, own->kQuickScale),
               {.range = kAboveZero}},
              {"--fork-max SIZE",
               [own](const Words& sizes) { own->most_fork_bytes = core::parse_size(sizes.back()); },
               "Measure forks of a process that holds up to this much memory (default: a quarter "
               "of what is free, at most 1G, quick 64M)"},
              {kMeterOption, meter.get(), "", {.hidden = true}}}),
      [own](const core::Topology& topology, const lab::Hooks& hooks) {
        check_allocators(own->allocators);
        return lab::run_process_thread(topology, *own, meters(), hooks);
      },
      [meter] {
        if (*meter) serve_meter();
        return *meter;
      });
}

}  // namespace

extern constinit const Verb process_thread_study{
    .name = "process-thread",
    .what =
        "Compare threads, processes and teams of both at allocation-heavy work and at mining "
        "encrypted transactions, and measure what forks cost",
    .examples =
        "  tabane study process-thread --quick\n"
        "  tabane study process-thread --workloads malloc-large,words -o figures\n"
        "  tabane study process-thread --workloads mining-values,mining-in-place",
    .define = define};

}  // namespace tabane::program
