// tabane study NAME: runs one of the reports again on this machine.
#include "tabane/cli/command.h"
#include "tabane/cli/command_studies.h"

namespace tabane::cli {

void add_study_command(CLI::App& app, int&) {
  CLI::App* verb =
      app.add_subcommand("study", "Run one of the performance reports again on this machine");
  verb->require_subcommand(1);
  add_ha8000_study(*verb);
  add_aes_folder_study(*verb);
  add_process_thread_study(*verb);
  add_ap1000_study(*verb);
  add_ap1000_applications_study(*verb);
  add_pc_cluster_study(*verb);
}

}  // namespace tabane::cli
