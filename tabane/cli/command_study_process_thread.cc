#include "tabane/cli/command_study_process_thread.h"

#include <memory>

#include "tabane/cli/allocator.h"
#include "tabane/cli/meter_process.h"
#include "tabane/cli/options.h"
#include "tabane/cli/run_study.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/lab/studies/process_thread.h"

namespace tabane::cli {
namespace {

constexpr const char* kMeterOption = "--meter";

struct ProcessThreadOptions : StudyOptions {
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

std::string names_of_workloads() {
  std::string names;
  for (const std::string& name : lab::process_thread_workloads())
    names += (names.empty() ? "" : ", ") + name;
  return names;
}

void add_options(CLI::App& command, ProcessThreadOptions& options) {
  lab::ProcessThreadOptions& study = options.study;
  command.add_flag("--quick", study.quick, "Fewer runs, sizes and shapes");
  command.add_option("--workloads", study.workloads, "Which of " + names_of_workloads())
      ->delimiter(',')
      ->type_name("LIST");
  command
      .add_option("--malloc", study.allocators,
                  "Which of glibc, jemalloc, mimalloc, tcmalloc (default: what is installed)")
      ->delimiter(',')
      ->type_name("LIST");
  command.add_option("-r,--runs", study.runs, "Runs of each point (default: as time allows)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command
      .add_option("--text-size", options.text_size,
                  "Size of the generated text (default 64M, quick 12M)")
      ->type_name("SIZE");
  command
      .add_option("--text", study.text_directory,
                  "Count the words of all files below DIR instead of generated text")
      ->type_name("DIR");
  command.add_option("-o,--output", options.output, "Write the figures into DIR, as SVG")
      ->type_name("DIR");
  command.add_flag("-q,--quiet", options.quiet, "No progress");
  command.add_flag(kMeterOption, options.meter)->group("");  // not for people
  options.json.add_to(command);
}

}  // namespace

void add_process_thread_study(CLI::App& study_verb, int&) {
  auto options = std::make_shared<ProcessThreadOptions>();
  CLI::App* command = study_verb.add_subcommand(
      "process-thread",
      "Threads, processes and teams of both at allocation-heavy work; what forks cost");
  show_examples_first(*command,
                      "  tabane study process-thread --quick\n"
                      "  tabane study process-thread --workloads malloc-large,words -o figures");
  add_options(*command, *options);
  command->callback([options] {
    if (options->meter) return serve_meter();
    check_allocators(options->study.allocators);
    if (!options->text_size.empty())
      options->study.text_bytes = core::parse_size(options->text_size);
    run_study(*options, [&](const lab::SurveyHooks& hooks) {
      return lab::run_process_thread(core::Topology::detect(), options->study, meters(), hooks);
    });
  });
}

}  // namespace tabane::cli
