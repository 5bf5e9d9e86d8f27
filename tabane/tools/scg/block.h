// The part of the mesh that a rank has.
#pragma once

#include <array>
#include <cstddef>

#include "tabane/comm/grid.h"
#include "tabane/tools/scg/problem.h"

namespace tabane::scg {

struct Block {
  std::size_t first_row = 0, rows = 0, first_column = 0, columns = 0;
  std::array<int, kSides> neighbours{-1, -1, -1, -1};  // ranks; -1: a side of the rectangle

  std::size_t unknowns() const { return rows * columns; }
};

// Replaces zeros in `wanted` so that the halos are short: those of columns, whose elements do not
// lie together, count twice.
// throws: core::UsageError if no grid of so many ranks fits the mesh, or the wanted one does not.
comm::GridShape choose_grid(int ranks, const Problem& problem, comm::GridShape wanted = {});

// The most ranks, of at most so many, of which a grid fits the mesh.
int most_ranks(int limit, const Problem& problem);

// Sizes of blocks differ by one row and one column at most. The grid fits the mesh.
Block block_of(const Problem& problem, comm::GridShape grid, int rank);

}  // namespace tabane::scg
