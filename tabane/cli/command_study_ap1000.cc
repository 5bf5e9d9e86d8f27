#include <memory>

#include "tabane/cli/command_studies.h"
#include "tabane/cli/options.h"
#include "tabane/cli/rank_options.h"
#include "tabane/cli/run_study.h"
#include "tabane/lab/studies/ap1000.h"

namespace tabane::cli {

void add_ap1000_study(CLI::App& verb) {
  struct Options : StudyOptions {
    lab::Ap1000Options study;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = verb.add_subcommand(
      "ap1000", "Time messages, broadcast, global functions, gathering and barriers between ranks");
  show_examples_first(*command,
                      "  tabane study ap1000 --quick -o pages\n"
                      "  mpirun -n 4 tabane study ap1000 --transport mpi");
  options->add_to(*command, "Take 20 s instead of 2 minutes: fewer samples");
  add_rank_options(*command, options->study.ranks);
  command->callback([options] {
    options->study.quick = options->quick;
    run_study(*options, [&](const lab::Hooks& hooks) {
      return lab::run_ap1000(core::Topology::detect(), options->study, hooks);
    });
  });
}

}  // namespace tabane::cli
