// Finds the files below a directory, without following symbolic links.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {

// Walks what lies below the open directory `root`. excludes: shell patterns (fnmatch) held against
// the name, or, if they contain a '/', against the path below the root; a directory that matches is
// left out with all below it. cost: one fstatat a file or directory; 24 bytes and
// its name a file.
// temporaries: whether files with a temporary name are left out, or are files like others. own:
// leaves out kOwnDirectory at the root. times: keeps Tree::times. throws: core::SystemError only if
// the root itself cannot be read.
enum class Temporaries { take, leave_out };
Tree scan(int root, const std::vector<std::string>& excludes,
          Temporaries temporaries = Temporaries::leave_out, bool own = false, bool times = false);

// Whether a path or a directory that it lies in matches one of scan()'s patterns.
bool is_excluded(const std::vector<std::string>& excludes, const std::string& path);

// A tree of the one file `name` in the open directory `parent`.
Tree single_file(const std::string& name, std::uint64_t bytes);

}  // namespace tabane::encrypt
