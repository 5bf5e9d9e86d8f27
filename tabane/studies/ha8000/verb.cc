#include <memory>

#include "tabane/program/command.h"
#include "tabane/program/run_study.h"
#include "tabane/studies/ha8000/ha8000.h"

namespace tabane::program {
namespace {

Definition define() {
  const auto options = std::make_shared<StudyOptions>();
  const auto quick = std::make_shared<bool>(false);
  return study(options, options->rows(*quick, "Take fewer samples and smaller sizes"),
               [quick](const core::Topology& topology, const lab::Hooks& hooks) {
                 return lab::run_ha8000(topology, *quick, hooks);
               });
}

}  // namespace

extern constinit const Verb ha8000_study{
    .name = "ha8000",
    .what = "Rerun the four demonstrations of the HA8000 guide and compare the results",
    .examples =
        "  tabane study ha8000 --quick\n"
        "  tabane study ha8000 -o pages",
    .define = define};

}  // namespace tabane::program
