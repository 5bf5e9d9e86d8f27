// tabane study NAME: runs one of the reports again on this machine.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "tabane/cli/command.h"
#include "tabane/cli/options.h"
#include "tabane/cli/output.h"
#include "tabane/cli/progress.h"
#include "tabane/cli/text_table.h"
#include "tabane/lab/study.h"

namespace tabane::cli {
namespace {

struct Options {
  bool quick = false;
  bool quiet = false;
  JsonOption json;
};

void print(const lab::Study& study) {
  fmt::print("{}\n{}\n", study.title, study.source);
  for (const lab::StudyTable& table : study.tables) {
    fmt::print("\n{}\n\n{}", table.title, text_table(table.rows));
    if (!table.remark.empty()) fmt::print("\n{}\n", table.remark);
  }
}

void run_study(const Options& options) {
  options.json.check();
  const StopOnSignal stop;
  ProgressLine progress(options.quiet);
  lab::SurveyHooks hooks;
  hooks.stop_requested = [] { return StopOnSignal::requested(); };
  hooks.progress = [&progress](const std::string& probe, double done, double left) {
    progress.show(probe, done, left);
  };
  const lab::Study study = lab::run_ha8000(core::Topology::detect(), options.quick, hooks);
  progress.clear();
  if (!options.json.to_stdout()) print(study);
  options.json.write(lab::to_json(study));
  if (!study.record.complete) fmt::print(stderr, "tabane: stopped; what was measured is shown\n");
  StopOnSignal::die_as_asked();
}

}  // namespace

void add_study_command(CLI::App& app, int&) {
  CLI::App* verb =
      app.add_subcommand("study", "Run one of the performance reports again on this machine");
  verb->require_subcommand(1);
  auto options = std::make_shared<Options>();
  CLI::App* ha8000 = verb->add_subcommand(
      "ha8000", "Clock-level timing, running on a chosen CPU, memory in a chosen place, SIMD");
  show_examples_first(*ha8000, "  tabane study ha8000 --quick");
  ha8000->add_flag("--quick", options->quick, "Fewer samples and smaller sizes");
  ha8000->add_flag("-q,--quiet", options->quiet, "No progress");
  options->json.add_to(*ha8000);
  ha8000->callback([options] { run_study(*options); });
}

}  // namespace tabane::cli
