#include <memory>

#include "tabane/lab/campaign/ranks.h"
#include "tabane/program/command.h"
#include "tabane/program/run_study.h"
#include "tabane/studies/ap1000_applications/ap1000_applications.h"

namespace tabane::program {
namespace {

Definition define() {
  const auto options = std::make_shared<StudyOptions>();
  const auto own = std::make_shared<lab::Ap1000ApplicationsOptions>();
  return study(
      options,
      table(
          options->rows(own->quick, "Take 1 minute instead of 6: smaller problems and fewer runs"),
          std::vector<Option>{
              {"--ranks N",
               &own->most_ranks,
               "Use at most N ranks (default: the PUs)",
               {.range = {1, lab::kMostRanksForked}}},
              time_row("--seconds TIME", own->seconds,
                       "Give SLALOM this time to solve as many patches as it can (default 10 s; "
                       "the benchmark says 60 s)")}),
      [own](const core::Topology& topology, const lab::Hooks& hooks) {
        return lab::run_ap1000_applications(topology, *own, hooks);
      });
}

}  // namespace

extern constinit const Verb ap1000_applications_study{
    .name = "ap1000-applications",
    .what =
        "Solve LINPACK, SCG and SLALOM on ranks, with the mechanisms of message handling one by "
        "one",
    .examples =
        "  tabane study ap1000-applications --quick -o pages\n"
        "  tabane study ap1000-applications --seconds 60 --ranks 4",
    .define = define};

}  // namespace tabane::program
