// tabane study NAME: runs one of the reports again on this machine.
#include <memory>

#include "tabane/cli/command.h"
#include "tabane/cli/command_study_ap1000.h"
#include "tabane/cli/command_study_process_thread.h"
#include "tabane/cli/options.h"
#include "tabane/cli/run_study.h"
#include "tabane/core/units.h"
#include "tabane/lab/study.h"

namespace tabane::cli {
namespace {

struct Ha8000Options : StudyOptions {
  bool quick = false;
};

struct AesFolderOptions : StudyOptions {
  lab::AesFolderOptions study;
  std::vector<std::string> sizes;  // as typed
};

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

void add_study_command(CLI::App& app, int& exit_code) {
  CLI::App* verb =
      app.add_subcommand("study", "Run one of the performance reports again on this machine");
  verb->require_subcommand(1);
  add_ha8000(*verb);
  add_aes_folder(*verb);
  add_process_thread_study(*verb, exit_code);
  add_ap1000_study(*verb);
}

}  // namespace tabane::cli
