// tabane study NAME: runs one of the reports again on this machine.
#include <memory>

#include "tabane/program/command.h"
#include "tabane/program/rank_options.h"
#include "tabane/program/run_study.h"
#include "tabane/studies/aes_folder/aes_folder.h"
#include "tabane/studies/ap1000/ap1000.h"
#include "tabane/studies/ap1000_applications/ap1000_applications.h"
#include "tabane/studies/ha8000/ha8000.h"

namespace tabane::program {
namespace {

Definition define_ha8000() {
  const auto options = std::make_shared<StudyOptions>();
  const auto quick = std::make_shared<bool>(false);
  return study(options, options->rows(*quick, "Take fewer samples and smaller sizes"),
               [quick](const core::Topology& topology, const lab::Hooks& hooks) {
                 return lab::run_ha8000(topology, *quick, hooks);
               });
}

Definition define_aes_folder() {
  const auto options = std::make_shared<StudyOptions>();
  const auto own = std::make_shared<lab::AesFolderOptions>();
  return study(
      options,
      table(
          {{"--files LIST", &own->files, "Numbers of files (default 10,100)", {.commas = true}},
           sizes_row("--sizes LIST", own->sizes,
                     "Sizes of a file (default 128,1K,4K,16K,64K,256K,1M,4M)"),
           {"-t,--threads LIST",
            &own->threads,
            "Numbers of threads (default 1,2,4 to twice the PUs, and 10,20,50,100); the number of "
            "PUs is always among them",
            {.commas = true}},
           {"-r,--runs N",
            &own->runs,
            "Runs of each point (default 100, fewer where runs are long)",
            {.range = kAboveZero}},
           {"--dir DIR", &own->directory,
            "Where the files are made and removed (default: a memory file system)"}},
          options->rows(own->quick, "Take fewer runs, sizes and numbers of threads")),
      [own](const core::Topology& topology, const lab::Hooks& hooks) {
        return lab::run_aes_folder(topology, *own, hooks);
      });
}

Definition define_ap1000() {
  const auto options = std::make_shared<StudyOptions>();
  const auto own = std::make_shared<lab::Ap1000Options>();
  return study(options,
               table(options->rows(own->quick, "Take 20 s instead of 2 minutes: fewer samples"),
                     rank_rows(own->ranks)),
               [own](const core::Topology& topology, const lab::Hooks& hooks) {
                 return lab::run_ap1000(topology, *own, hooks);
               });
}

Definition define_ap1000_applications() {
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

constexpr Verb kHa8000{
    .name = "ha8000",
    .what = "Rerun the four demonstrations of the HA8000 guide and compare the results",
    .examples =
        "  tabane study ha8000 --quick\n"
        "  tabane study ha8000 -o pages",
    .define = define_ha8000};
constexpr Verb kAesFolder{
    .name = "aes-folder",
    .what = "Encrypt a directory file by file: the report's program, tabane, and plain copying",
    .examples =
        "  tabane study aes-folder --quick\n"
        "  tabane study aes-folder --files 100 --sizes 1M --runs 100 -o pages",
    .define = define_aes_folder};
constexpr Verb kAp1000{
    .name = "ap1000",
    .what = "Time messages, broadcast, global functions, gathering and barriers between ranks",
    .examples =
        "  tabane study ap1000 --quick -o pages\n"
        "  mpirun -n 4 tabane study ap1000 --transport mpi",
    .define = define_ap1000};
constexpr Verb kAp1000Applications{
    .name = "ap1000-applications",
    .what =
        "Solve LINPACK, SCG and SLALOM on ranks, with the mechanisms of message handling one by "
        "one",
    .examples =
        "  tabane study ap1000-applications --quick -o pages\n"
        "  tabane study ap1000-applications --seconds 60 --ranks 4",
    .define = define_ap1000_applications};
constexpr const Verb* kStudies[] = {&kHa8000, &kAesFolder,          &process_thread_study,
                                    &kAp1000, &kAp1000Applications, &pc_cluster_study};

}  // namespace

constinit const Verb study_verb{.name = "study",
                                .what = "Run one of the performance reports again on this machine",
                                .below = kStudies};

}  // namespace tabane::program
