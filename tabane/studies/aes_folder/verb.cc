#include <memory>

#include "tabane/program/command.h"
#include "tabane/program/run_study.h"
#include "tabane/studies/aes_folder/aes_folder.h"

namespace tabane::program {
namespace {

Definition define() {
  const auto options = std::make_shared<StudyOptions>();
  const auto own = std::make_shared<lab::AesFolderOptions>();
  return study(
      options,
      table(
          {{"--files LIST", &own->files, "Numbers of files (default 10,100)", {.commas = true}},
           sizes_row("--sizes LIST", own->sizes, "Sizes of a file (default 128,256,512,1K to 4M)"),
           {"-t,--threads LIST",
            &own->threads,
            "Numbers of threads (default 1 and the number of PUs, which is always among them; for "
            "the report's program 1,2,4 to twice the PUs, and 10,20,50,100)",
            {.commas = true}},
           {"-r,--runs N",
            &own->runs,
            "Runs of each point (default 100, fewer where runs are long)",
            {.range = kAboveZero}},
           {"--dir DIR", &own->directory,
            "Where the files are made and removed (default: a memory file system)"},
           {"--also DIR", &own->also,
            "Another directory, such as one on a disk, for the report's program and copying"}},
          options->rows(own->quick,
                        "Take fewer runs, sizes and numbers of threads; the study first says how "
                        "long it takes")),
      [own](const core::Topology& topology, const lab::Hooks& hooks) {
        return lab::run_aes_folder(topology, *own, hooks);
      });
}

}  // namespace

extern constinit const Verb aes_folder_study{
    .name = "aes-folder",
    .what =
        "Encrypt a directory with the report's program and with tabane, and compare both with "
        "copying",
    .examples =
        "  tabane study aes-folder --quick\n"
        "  tabane study aes-folder --files 100 --sizes 1M --runs 100 -o pages\n"
        "  tabane study aes-folder --also /var/tmp -o pages",
    .define = define};

}  // namespace tabane::program
