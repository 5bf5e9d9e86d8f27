// Refuses outputs that lie where a job reads, and inputs that lie where it writes, by whatever
// names or mounts they are reached.
#pragma once

#include <sys/stat.h>

#include <filesystem>

#include "tabane/tools/encrypt/preflight.h"
#include "tabane/tools/encrypt/request.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {

// An output as the user knows it: "OUT", and its path, which is absolute.
struct OutputPlace {
  const char* what;
  std::filesystem::path path;
};

// throws: core::UsageError if the directory IN and the directory OUT are one, or one lies inside
// the other.
void require_apart(int in_root, const std::filesystem::path& in, const std::filesystem::path& out);

// The same of all directories that a scan of IN has seen: a mount of one of them has parents of its
// own.
void require_apart_from_all(const Tree& tree, const std::filesystem::path& in,
                            const OutputPlace& out);

// throws: core::UsageError if the directory `in` is, or lies in, a sealed tree that the output
// would lie in, too: nobody could tell it from what a stranger has added there.
void require_outside_sealed_tree(const std::filesystem::path& in, const OutputPlace& out);

// throws: core::UsageError if the request's record would replace IN or OUT, or lie in one of them
// or in a sealed tree that is read. in: of IN.
void require_record_apart(const Request& request, const struct stat& in, const Places& places);

}  // namespace tabane::encrypt
