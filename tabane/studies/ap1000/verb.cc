#include <memory>

#include "tabane/program/command.h"
#include "tabane/program/run_options.h"
#include "tabane/program/run_study.h"
#include "tabane/studies/ap1000/ap1000.h"

namespace tabane::program {
namespace {

Definition define() {
  const auto options = std::make_shared<StudyOptions>();
  const auto own = std::make_shared<lab::Ap1000Options>();
  return study(options,
               table(options->rows(own->quick, "Take 20 s instead of 2 minutes: fewer samples"),
                     rank_rows(own->ranks),
                     std::vector<Option>{{"--machine MACHINE",
                                          &own->ranks.machine,
                                          "Measure a simulated machine, such as ap1000:16x16 (see "
                                          "'tabane simulate')",
                                          {.excludes = {"--transport"}}}}),
               [own](const core::Topology& topology, const lab::Hooks& hooks) {
                 return lab::run_ap1000(topology, *own, hooks);
               });
}

}  // namespace

extern constinit const Verb ap1000_study{
    .name = "ap1000",
    .what = "Time messages, broadcast, global functions, gathering and barriers between ranks",
    .examples =
        "  tabane study ap1000 --quick -o pages\n"
        "  tabane study ap1000 --machine ap1000:16x32   on the machine of the report\n"
        "  mpirun -n 4 tabane study ap1000 --transport mpi",
    .define = define};

}  // namespace tabane::program
