// tabane study NAME: runs one of the reports again on this machine.
#include <memory>

#include "tabane/cli/command.h"
#include "tabane/cli/command_studies.h"
#include "tabane/cli/rank_options.h"
#include "tabane/cli/run_study.h"
#include "tabane/lab/studies/aes_folder.h"
#include "tabane/lab/studies/ap1000.h"
#include "tabane/lab/studies/ap1000_applications.h"
#include "tabane/lab/studies/ha8000.h"

namespace tabane::cli {
namespace {

void add_ha8000_study(CLI::App& studies) {
  const auto quick = std::make_shared<bool>(false);
  StudyVerb verb(studies, "ha8000",
                 "Rerun the four demonstrations of the HA8000 guide and compare the results",
                 "  tabane study ha8000 --quick\n"
                 "  tabane study ha8000 -o pages");
  verb.add_common(*quick, "Take fewer samples and smaller sizes");
  verb.runs([quick](const core::Topology& topology, const lab::Hooks& hooks) {
    return lab::run_ha8000(topology, *quick, hooks);
  });
}

void add_aes_folder_study(CLI::App& studies) {
  const auto study = std::make_shared<lab::AesFolderOptions>();
  StudyVerb verb(
      studies, "aes-folder",
      "Encrypt a directory file by file: the report's program, tabane, and plain copying",
      "  tabane study aes-folder --quick\n"
      "  tabane study aes-folder --files 100 --sizes 1M --runs 100 -o pages");
  verb.add_list("--files", "LIST", study->files, "Numbers of files (default 10,100)");
  verb.add_sizes("--sizes", "LIST", study->sizes,
                 "Sizes of a file (default 128,1K,4K,16K,64K,256K,1M,4M)");
  verb.add_list("-t,--threads", "LIST", study->threads,
                "Numbers of threads (default 1,2,4 to twice the PUs, and 10,20,50,100); the number "
                "of PUs is always among them");
  verb.add_count("-r,--runs", study->runs,
                 "Runs of each point (default 100, fewer where runs are long)");
  verb.add("--dir", "DIR", study->directory,
           "Where the files are made and removed (default: a memory file system)");
  verb.add_common(study->quick, "Take fewer runs, sizes and numbers of threads");
  verb.runs([study](const core::Topology& topology, const lab::Hooks& hooks) {
    return lab::run_aes_folder(topology, *study, hooks);
  });
}

void add_ap1000_study(CLI::App& studies) {
  const auto study = std::make_shared<lab::Ap1000Options>();
  StudyVerb verb(studies, "ap1000",
                 "Time messages, broadcast, global functions, gathering and barriers between ranks",
                 "  tabane study ap1000 --quick -o pages\n"
                 "  mpirun -n 4 tabane study ap1000 --transport mpi");
  verb.add_common(study->quick, "Take 20 s instead of 2 minutes: fewer samples");
  add_rank_options(*verb, study->ranks);
  verb.runs([study](const core::Topology& topology, const lab::Hooks& hooks) {
    return lab::run_ap1000(topology, *study, hooks);
  });
}

void add_ap1000_applications_study(CLI::App& studies) {
  const auto study = std::make_shared<lab::Ap1000ApplicationsOptions>();
  StudyVerb verb(
      studies, "ap1000-applications",
      "Solve LINPACK, SCG and SLALOM on ranks, with the mechanisms of message handling one by one",
      "  tabane study ap1000-applications --quick -o pages\n"
      "  tabane study ap1000-applications --seconds 60 --ranks 4");
  verb.add_common(study->quick, "Take 1 minute instead of 6: smaller problems and fewer runs");
  verb.add_count("--ranks", study->most_ranks, "Use at most N ranks (default: the PUs)",
                 lab::kMostRanksForked);
  verb.add_time("--seconds", study->seconds,
                "Give SLALOM this time to solve as many patches as it can (default 10 s; the "
                "benchmark says 60 s)");
  verb.runs([study](const core::Topology& topology, const lab::Hooks& hooks) {
    return lab::run_ap1000_applications(topology, *study, hooks);
  });
}

}  // namespace

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
