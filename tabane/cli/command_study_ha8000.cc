#include <memory>

#include "tabane/cli/command_studies.h"
#include "tabane/cli/options.h"
#include "tabane/cli/run_study.h"
#include "tabane/lab/studies/ha8000.h"

namespace tabane::cli {

void add_ha8000_study(CLI::App& verb) {
  auto options = std::make_shared<StudyOptions>();
  CLI::App* command = verb.add_subcommand(
      "ha8000", "Rerun the four demonstrations of the HA8000 guide and compare the results");
  show_examples_first(*command,
                      "  tabane study ha8000 --quick\n"
                      "  tabane study ha8000 -o pages");
  options->add_to(*command, "Take fewer samples and smaller sizes");
  command->callback([options] {
    run_study(*options, [&](const lab::Hooks& hooks) {
      return lab::run_ha8000(core::Topology::detect(), options->quick, hooks);
    });
  });
}

}  // namespace tabane::cli
