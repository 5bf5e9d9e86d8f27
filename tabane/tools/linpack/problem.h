// How large a system may be, and into what pieces it is cut.
#pragma once

#include "tabane/comm/grid.h"

namespace tabane::linpack {

inline constexpr int kMostEquations = 1000000, kMostBlock = 4096;

// Columns of a panel: few where panels would otherwise be a large part of the work, as many as
// keep the update busy where they are not.
int default_block(int n, comm::GridShape grid);

// n where none is given: what takes some seconds, or what an eighth of the memory holds if that is
// less. memory: bytes of all ranks.
int default_size(int ranks, double memory);

// The largest n whose system fits into so many bytes, in panels of `block` columns. from_file: with
// the matrix that the ranks share with the caller, who has read it.
int largest_that_fits(double memory, int block, comm::GridShape grid, bool from_file = false);

// throws: core::UsageError, naming the largest n that fits, if the system does not fit.
void require_memory(int n, int block, comm::GridShape grid, double memory, bool from_file = false);

}  // namespace tabane::linpack
