#include <memory>

#include "tabane/cli/command_studies.h"
#include "tabane/cli/options.h"
#include "tabane/cli/run_study.h"
#include "tabane/core/units.h"
#include "tabane/lab/studies/aes_folder.h"

namespace tabane::cli {

void add_aes_folder_study(CLI::App& verb) {
  struct Options : StudyOptions {
    lab::AesFolderOptions study;
    std::vector<std::string> sizes;  // as typed
  };
  auto options = std::make_shared<Options>();
  lab::AesFolderOptions& study = options->study;
  CLI::App* command = verb.add_subcommand(
      "aes-folder",
      "Encrypt a directory file by file: the report's program, tabane, and plain copying");
  show_examples_first(*command,
                      "  tabane study aes-folder --quick\n"
                      "  tabane study aes-folder --files 100 --sizes 1M --runs 100 -o pages");
  const auto add_list = [&](const char* flags, auto& values, const char* help) {
    command->add_option(flags, values, help)->delimiter(',')->type_name("LIST");
  };
  add_list("--files", study.files, "Numbers of files (default 10,100)");
  add_list("--sizes", options->sizes, "Sizes of a file (default 128,1K,4K,16K,64K,256K,1M,4M)");
  add_list("-t,--threads", study.threads,
           "Numbers of threads (default 1,2,4 to twice the PUs, and 10,20,50,100); the number of "
           "PUs is always among them");
  command
      ->add_option("-r,--runs", study.runs,
                   "Runs of each point (default 100, fewer where runs are long)")
      ->check(CLI::PositiveNumber)
      ->type_name("N");
  command
      ->add_option("--dir", study.directory,
                   "Where the files are made and removed (default: a memory file system)")
      ->type_name("DIR");
  options->add_to(*command, "Take fewer runs, sizes and numbers of threads");
  command->callback([options] {
    options->study.quick = options->quick;
    for (const std::string& size : options->sizes)
      options->study.sizes.push_back(core::parse_size(size));
    run_study(*options, [&](const lab::Hooks& hooks) {
      return lab::run_aes_folder(core::Topology::detect(), options->study, hooks);
    });
  });
}

}  // namespace tabane::cli
