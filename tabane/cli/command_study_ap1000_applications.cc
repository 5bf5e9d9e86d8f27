#include <memory>

#include "tabane/cli/command_studies.h"
#include "tabane/cli/options.h"
#include "tabane/cli/run_study.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"
#include "tabane/lab/studies/ap1000_applications.h"

namespace tabane::cli {

void add_ap1000_applications_study(CLI::App& verb) {
  struct Options : StudyOptions {
    lab::Ap1000ApplicationsOptions study;
    std::string seconds;  // as typed
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = verb.add_subcommand(
      "ap1000-applications",
      "Solve LINPACK, SCG and SLALOM on ranks, with the mechanisms of message handling one by one");
  show_examples_first(*command,
                      "  tabane study ap1000-applications --quick -o pages\n"
                      "  tabane study ap1000-applications --seconds 60 --ranks 4");
  options->add_to(*command, "Take 1 minute instead of 6: smaller problems and fewer runs");
  command
      ->add_option("--ranks", options->study.most_ranks, "Use at most N ranks (default: the PUs)")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  command
      ->add_option("--seconds", options->seconds,
                   "Give SLALOM this time to solve as many patches as it can (default 10 s; the "
                   "benchmark says 60 s)")
      ->type_name("TIME");
  command->callback([options] {
    options->study.quick = options->quick;
    if (!options->seconds.empty()) {
      options->study.seconds = core::parse_seconds(options->seconds);
      if (!(options->study.seconds > 0)) {
        throw core::UsageError("--seconds: more than 0 are needed");
      }
    }
    run_study(*options, [&](const lab::Hooks& hooks) {
      return lab::run_ap1000_applications(core::Topology::detect(), options->study, hooks);
    });
  });
}

}  // namespace tabane::cli
