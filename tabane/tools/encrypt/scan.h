// Finds the files below a directory, without following symbolic links.
#pragma once

#include <cstdint>
#include <string>

#include "tabane/tools/encrypt/selection.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {

// Walks what lies below the open directory `root`. cost: one fstatat a file or directory; 24 bytes
// and its name a file.
// temporaries: whether files with a temporary name are left out, or are files like others. own:
// leaves out kOwnDirectory at the root. times: keeps Tree::times. throws: core::SystemError only if
// the root itself cannot be read.
enum class Temporaries { take, leave_out };
Tree scan(int root, const Selection& selection, Temporaries temporaries = Temporaries::leave_out,
          bool own = false, bool times = false);

// A tree of the one file `name` in the open directory `parent`.
Tree single_file(const std::string& name, std::uint64_t bytes);

}  // namespace tabane::encrypt
