// Where a loadable module of tabane may be: what is loaded from there runs as part of the program.
#pragma once

#include <filesystem>
#include <string>

namespace tabane::core {

// All absolute, except from_program.
struct ModulePlaces {
  std::filesystem::path build_folder;  // of tabane
  std::filesystem::path built;         // in it
  std::filesystem::path from_program;  // from the directory of an installed program: ../lib/tabane
  std::filesystem::path installed;     // with the prefix that tabane was configured with
};

// Of the modules of this build.
const ModulePlaces& module_places();

// The file of the running program; empty if the system does not say it.
std::filesystem::path this_program();

// Returns the directory for a program at `program`, an absolute path without symbolic links: where
// tabane was built, for one that lies in that build folder; else the one beside the program, as an
// installation or a moved build folder has it, if that exists; else where tabane was to be
// installed.
std::filesystem::path module_directory(const std::filesystem::path& program,
                                       const ModulePlaces& places);

// Returns why a module is not to be loaded, as a sentence's end: it, or a directory above it,
// belongs to another user, or others may write to it. Others are all but root, this user, their
// first groups and the owner of `program`. Empty: nothing is against it.
std::string distrust_of(const std::filesystem::path& module, const std::filesystem::path& program);

}  // namespace tabane::core
