// Operations and memory of SLALOM as functions of the number of patches and of the grid.
#pragma once

#include <cstddef>

#include "tabane/comm/grid.h"
#include "tabane/tools/slalom/patches.h"

namespace tabane::slalom {

// How the benchmark counts: in 1990 and since its revision.
enum class Revision { r152, r126 };

// Operations as the benchmark counts them, whatever is done. Source: its operation counts, with + -
// x and comparison 1, division and square root 4, atan and log 8.
double counted_operations(const Geometry& geometry, int patches, Revision revision);

// Multiplications and additions of matrix products and factorisations that are done: (n - f)^2 n
// for f patches on the first face.
double performed_operations(int first_face, int patches);

// What all ranks together take, in bytes: three times the lower part of a matrix of n - f rows, the
// couplings of the first face, the panels. block: columns of a panel; 0: see default_block().
std::size_t bytes_of_ranks(const Geometry& geometry, int patches, comm::GridShape grid,
                           int block = 0);
// The most patches for that many bytes; 0: not even the fewest.
int most_patches(const Geometry& geometry, double bytes, comm::GridShape grid, int block = 0);

}  // namespace tabane::slalom
