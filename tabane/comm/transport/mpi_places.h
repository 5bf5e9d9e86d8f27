// Where the modules for MPI may lie: what is loaded from there runs as part of the program.
#pragma once

#include <filesystem>
#include <string>

namespace tabane::comm {

// Returns the directory for a program at `program`: where tabane was built, for one that lies in
// that build folder; where tabane was installed, for all others.
std::filesystem::path module_directory(const std::filesystem::path& program);

// Returns why a module is not to be loaded, as a sentence's end: others may write to the file or to
// a directory above it. Others are all but root, this user, their first groups and the owner of
// `program`. Empty: nothing is against it.
std::string distrust_of(const std::filesystem::path& module, const std::filesystem::path& program);

}  // namespace tabane::comm
