// tabane study NAME: runs one of the reports again on this machine.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "tabane/cli/command.h"
#include "tabane/cli/options.h"
#include "tabane/cli/output.h"
#include "tabane/cli/progress.h"
#include "tabane/cli/text_table.h"
#include "tabane/core/units.h"
#include "tabane/lab/study.h"

namespace tabane::cli {
namespace {

struct Options {
  bool quiet = false;
  JsonOption json;
  std::string output;  // directory of the figures; empty: none
};

struct Ha8000Options : Options {
  bool quick = false;
};

struct AesFolderOptions : Options {
  lab::AesFolderOptions study;
  std::vector<std::string> sizes;  // as typed
};

void print(const lab::Study& study) {
  fmt::print("{}\n{}\n", study.title, study.source);
  for (const lab::StudyTable& table : study.tables) {
    fmt::print("\n{}\n\n{}", table.title, text_table(table.rows));
    if (!table.remark.empty()) fmt::print("\n{}\n", table.remark);
  }
}

template <class Run>
void run_study(const Options& options, const Run& run) {
  options.json.check();
  if (!options.output.empty()) require_writable_directory(options.output);
  const StopOnSignal stop;
  ProgressLine progress(options.quiet);
  lab::SurveyHooks hooks;
  hooks.stop_requested = [] { return StopOnSignal::requested(); };
  hooks.progress = [&progress](const std::string& probe, double done, double left) {
    progress.show(probe, done, left);
  };
  const lab::Study study = run(hooks);
  progress.clear();
  if (!options.json.to_stdout()) print(study);
  std::fflush(stdout);
  options.json.write(lab::to_json(study));
  if (!study.record.complete) fmt::print(stderr, "tabane: stopped; what was measured is shown\n");
  if (!options.output.empty()) {
    if (const auto remark = lab::write_study_figures(study, options.output))
      fmt::print(stderr, "tabane: {}\n", *remark);
    else if (!options.quiet)
      fmt::print(stderr, "tabane: the figures are in {}\n", options.output);
  }
  StopOnSignal::die_as_asked();
}

void add_ha8000(CLI::App& verb) {
  auto options = std::make_shared<Ha8000Options>();
  CLI::App* ha8000 = verb.add_subcommand(
      "ha8000", "Clock-level timing, running on a chosen CPU, memory in a chosen place, SIMD");
  show_examples_first(*ha8000, "  tabane study ha8000 --quick");
  ha8000->add_flag("--quick", options->quick, "Fewer samples and smaller sizes");
  ha8000->add_flag("-q,--quiet", options->quiet, "No progress");
  options->json.add_to(*ha8000);
  ha8000->callback([options] {
    run_study(*options, [&](const lab::SurveyHooks& hooks) {
      return lab::run_ha8000(core::Topology::detect(), options->quick, hooks);
    });
  });
}

void add_aes_folder(CLI::App& verb) {
  auto options = std::make_shared<AesFolderOptions>();
  lab::AesFolderOptions& study = options->study;
  CLI::App* command = verb.add_subcommand(
      "aes-folder",
      "A directory encrypted file by file: the report's program, tabane, and plain copying");
  show_examples_first(*command,
                      "  tabane study aes-folder --quick\n"
                      "  tabane study aes-folder --files 100 --sizes 1M --runs 100 -o figures");
  command->add_flag("--quick", study.quick, "Fewer runs, sizes and numbers of threads");
  command->add_option("--files", study.files, "Numbers of files (default 10,100)")
      ->delimiter(',')
      ->type_name("LIST");
  command
      ->add_option("--sizes", options->sizes,
                   "Sizes of a file (default 128,1K,4K,16K,64K,256K,1M,4M)")
      ->delimiter(',')
      ->type_name("LIST");
  command
      ->add_option("-t,--threads", study.threads,
                   "Numbers of threads (default 1,2,4 to twice the PUs, and 10,20,50,100); the "
                   "number of PUs is always among them")
      ->delimiter(',')
      ->type_name("LIST");
  command
      ->add_option("-r,--runs", study.runs,
                   "Runs of each point (default 100, fewer where runs are long)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command
      ->add_option("--dir", study.directory,
                   "Where the files are made and removed (default: a memory file system)")
      ->type_name("DIR");
  command->add_option("-o,--output", options->output, "Write the figures into DIR, as SVG")
      ->type_name("DIR");
  command->add_flag("-q,--quiet", options->quiet, "No progress");
  options->json.add_to(*command);
  command->callback([options] {
    for (const std::string& size : options->sizes)
      options->study.sizes.push_back(core::parse_size(size));
    run_study(*options, [&](const lab::SurveyHooks& hooks) {
      return lab::run_aes_folder(core::Topology::detect(), options->study, hooks);
    });
  });
}

}  // namespace

void add_study_command(CLI::App& app, int&) {
  CLI::App* verb =
      app.add_subcommand("study", "Run one of the performance reports again on this machine");
  verb->require_subcommand(1);
  add_ha8000(*verb);
  add_aes_folder(*verb);
}

}  // namespace tabane::cli
