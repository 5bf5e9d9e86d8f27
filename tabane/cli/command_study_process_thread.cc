#include <fmt/format.h>

#include <memory>

#include "tabane/cli/allocator.h"
#include "tabane/cli/command_studies.h"
#include "tabane/cli/meter_process.h"
#include "tabane/cli/run_options.h"
#include "tabane/cli/run_study.h"
#include "tabane/lab/studies/process_thread.h"

namespace tabane::cli {
namespace {

constexpr const char* kMeterOption = "--meter";

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
  for (const std::string& name : names) find_allocator(name, library_directories(own_variable));
}

void add_options(StudyVerb& verb, lab::ProcessThreadOptions& study) {
  std::vector<std::string> workloads;
  for (const auto& workload : lab::process_thread::workloads())
    workloads.emplace_back(workload.name);
  verb.add_common(study.quick, "Fewer runs, sizes and shapes");
  verb.add_list("--workloads", "LIST", study.workloads,
                fmt::format("Measure only some of {}", fmt::join(workloads, ", ")));
  verb.add_list("--malloc", "LIST", study.allocators,
                "Measure only some of glibc, jemalloc, mimalloc, tcmalloc (default: what is "
                "installed)");
  verb.add_count("-r,--runs", study.runs, "Measure each point N times (default: as time allows)");
  verb.add_size("--text-size", study.text_bytes,
                fmt::format("Generate a text of this size (default {}M, quick {}M)",
                            study.kTextBytes >> 20, study.kQuickTextBytes >> 20));
  verb.add("--text", "DIR", study.text_directory,
           "Count the words of all files below DIR instead of generated text");
  verb.add("--scale", "X", study.scale,
           fmt::format("Mine so much of the report's 1943424 encrypted transactions (default {}, "
                       "quick {})",
                       study.kScale, study.kQuickScale))
      ->check(CLI::PositiveNumber);
}

}  // namespace

void add_process_thread_study(CLI::App& studies) {
  const auto study = std::make_shared<lab::ProcessThreadOptions>();
  const auto meter = std::make_shared<bool>(false);  // serves a study instead
  StudyVerb verb(studies, "process-thread",
                 "Threads, processes and teams of both at allocation-heavy work and at mining "
                 "encrypted transactions; what forks cost",
                 "  tabane study process-thread --quick\n"
                 "  tabane study process-thread --workloads malloc-large,words -o figures\n"
                 "  tabane study process-thread --workloads mining-values,mining-in-place");
  add_options(verb, *study);
  verb->add_flag(kMeterOption, *meter)->group("");  // not for people
  verb.runs(
      [study](const core::Topology& topology, const lab::Hooks& hooks) {
        check_allocators(study->allocators);
        return lab::run_process_thread(topology, *study, meters(), hooks);
      },
      [meter] {
        if (*meter) serve_meter();
        return *meter;
      });
}

}  // namespace tabane::cli
