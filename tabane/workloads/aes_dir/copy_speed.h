// How fast this machine copies the files of a tree: the limit that encrypting is held against.
#pragma once

#include <optional>

#include "tabane/workloads/aes_dir/tree.h"

namespace tabane::workloads::aes_dir {

struct CopySpeed {
  double bytes_per_second = 0;
  double files_per_second = 0;
};

// Reads about 1 % of the files, spread over the tree, and writes as many random bytes into
// temporary files in the open directory `to`, and removes them. Nothing if the tree is too small
// for that to be fair (below 64 MiB and 4096 files), or if a file cannot be copied. cost: about 1 %
// of copying all.
std::optional<CopySpeed> measure_copy_speed(const Tree& tree, int in_root, int to,
                                            unsigned threads);

}  // namespace tabane::workloads::aes_dir
