// Sealed trees against other programs that encrypt files, and against programs that compare or list
// trees.
#pragma once

#include "bench/bench.h"
#include "bench/command.h"
#include "tabane/core/threads.h"

namespace tabane::bench {

// total: gets what all runs of tabane use.
void ask_trees(Panel& panel, core::PinnedPool& pool, Usage& total);

// Files on ext4, mounted from a file, against copying them, with and without waiting for the disk.
void ask_disk(Panel& panel, core::PinnedPool& pool, Usage& total);

}  // namespace tabane::bench
