#include <memory>
#include <string>

#include "tabane/program/command.h"
#include "tabane/program/run_options.h"
#include "tabane/program/run_study.h"
#include "tabane/program/solver.h"
#include "tabane/studies/ap1000_applications/ap1000_applications.h"

namespace tabane::program {
namespace {

Definition define() {
  const auto options = std::make_shared<StudyOptions>();
  const auto own = std::make_shared<lab::Ap1000ApplicationsOptions>();
  const auto grid = std::make_shared<std::string>();
  return study(
      options,
      table(
          options->rows(
              own->quick,
              "Take smaller problems and fewer runs; the study first says how long it takes"),
          std::vector<Option>{
              {"-n,--ranks N",
               &own->ranks.most_ranks,
               "Use at most N ranks (default: the PUs, but at least 4; over MPI all that it has)",
               {.range = {1, lab::kMostRanksForked}}},
              {"--grid RxC",
               grid.get(),
               "Use R x C ranks at most, laid out in R rows and C columns",
               {.excludes = {"--ranks"}}},
              {"--transport NAME",
               [own](const Words& names) { own->ranks.transport = transport_named(names.back()); },
               "Send messages by shm, mpi or auto: mpi under its launcher (default auto)",
               {.choices = {"auto", "shm", "mpi"}}},
              {"--machine MACHINE",
               &own->ranks.machine,
               "Solve on a simulated machine, such as ap1000:16x32 (see 'tabane simulate')",
               {.excludes = {"--transport", "--grid"}}},
              {"--conventional WHAT=FACTOR,...",
               &own->conventional,
               "With --machine: how conventional messages, of which the report gives no cost, "
               "differ from the machine's own (default setup=5)",
               {.needs = {"--machine"}}},
              time_row("--seconds TIME", own->seconds,
                       "Give SLALOM this time to solve as many patches as it can, with each set of "
                       "mechanisms (default 1 s, simulated 60 s, as the benchmark says)")}),
      [own, grid](const core::Topology& topology, const lab::Hooks& hooks) {
        if (!grid->empty()) {
          const auto [rows, columns] = pair_of("--grid", *grid);
          own->grid = {rows, columns};
        }
        return lab::run_ap1000_applications(topology, *own, hooks);
      });
}

}  // namespace

extern constinit const Verb ap1000_applications_study{
    .name = "ap1000-applications",
    .what =
        "Solve LINPACK, SCG and SLALOM on ranks, and switch the mechanisms of message handling on "
        "one by one",
    .examples =
        "  tabane study ap1000-applications --quick -o pages\n"
        "  tabane study ap1000-applications --seconds 60 --ranks 4\n"
        "  tabane study ap1000-applications --machine ap1000:16x32   on the report's machine\n"
        "  mpirun -n 4 tabane study ap1000-applications",
    .define = define};

}  // namespace tabane::program
