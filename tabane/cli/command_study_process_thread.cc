#include <fmt/format.h>

#include <cstdlib>
#include <memory>

#include "tabane/cli/allocator.h"
#include "tabane/cli/command_studies.h"
#include "tabane/cli/meter_process.h"
#include "tabane/cli/options.h"
#include "tabane/cli/run_study.h"
#include "tabane/core/units.h"
#include "tabane/lab/studies/process_thread.h"

namespace tabane::cli {
namespace {

constexpr const char* kMeterOption = "--meter";

struct Options : StudyOptions {
  lab::ProcessThreadOptions study;
  std::string text_size;  // as typed
  bool meter = false;     // serves a study instead
};

lab::ProcessThreadMeters meters() {
  return {.start =
              [](const std::string& allocator) {
                const auto process = std::make_shared<MeterProcess>(
                    allocator, std::vector<std::string>{"study", "process-thread", kMeterOption});
                return [process](const lab::Json& request) { return process->ask(request); };
              },
          .allocators = {"glibc", "jemalloc", "mimalloc", "tcmalloc"}};
}

// What the user names must be there; by default what is not installed is left out.
void check_allocators(const std::vector<std::string>& names) {
  const auto own = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
  for (const std::string& name : names) find_allocator(name, library_directories(own));
}

void add_options(CLI::App& command, Options& options) {
  lab::ProcessThreadOptions& study = options.study;
  options.add_to(command, "Fewer runs, sizes and shapes");
  std::vector<std::string> workloads;
  for (const auto& workload : lab::process_thread::workloads())
    workloads.emplace_back(workload.name);
  command
      .add_option("--workloads", study.workloads,
                  fmt::format("Measure only some of {}", fmt::join(workloads, ", ")))
      ->delimiter(',')
      ->type_name("LIST");
  command
      .add_option("--malloc", study.allocators,
                  "Measure only some of glibc, jemalloc, mimalloc, tcmalloc (default: what is "
                  "installed)")
      ->delimiter(',')
      ->type_name("LIST");
  command
      .add_option("-r,--runs", study.runs, "Measure each point N times (default: as time allows)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command
      .add_option("--text-size", options.text_size,
                  fmt::format("Generate a text of this size (default {}M, quick {}M)",
                              study.kTextBytes >> 20, study.kQuickTextBytes >> 20))
      ->type_name("SIZE");
  command
      .add_option("--text", study.text_directory,
                  "Count the words of all files below DIR instead of generated text")
      ->type_name("DIR");
  command
      .add_option("--scale", study.scale,
                  fmt::format("Mine so much of the report's 1943424 encrypted transactions "
                              "(default {}, quick {})",
                              study.kScale, study.kQuickScale))
      ->check(CLI::PositiveNumber)
      ->type_name("X");
  command.add_flag(kMeterOption, options.meter)->group("");  // not for people
}

}  // namespace

void add_process_thread_study(CLI::App& study_verb) {
  auto options = std::make_shared<Options>();
  CLI::App* command = study_verb.add_subcommand(
      "process-thread",
      "Threads, processes and teams of both at allocation-heavy work and at mining encrypted "
      "transactions; what forks cost");
  show_examples_first(*command,
                      "  tabane study process-thread --quick\n"
                      "  tabane study process-thread --workloads malloc-large,words -o figures\n"
                      "  tabane study process-thread --workloads mining-values,mining-in-place");
  add_options(*command, *options);
  command->callback([options] {
    if (options->meter) return serve_meter();
    check_allocators(options->study.allocators);
    options->study.quick = options->quick;
    if (!options->text_size.empty())
      options->study.text_bytes = core::parse_size(options->text_size);
    run_study(*options, [&](const lab::Hooks& hooks) -> std::optional<lab::Record> {
      return lab::run_process_thread(core::Topology::detect(), options->study, meters(), hooks);
    });
  });
}

}  // namespace tabane::cli
