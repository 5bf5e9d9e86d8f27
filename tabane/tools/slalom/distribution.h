// Which rank has which part of the couplings: the first face's patches, between which there is no
// coupling, are eliminated first; what remains is a symmetric matrix, block-cyclic over the grid.
#pragma once

#include "tabane/comm/grid.h"
#include "tabane/tools/slalom/block_cyclic.h"
#include "tabane/tools/slalom/patches.h"

namespace tabane::slalom {

struct Distribution {
  int first_face = 0;         // patches 0 … first_face - 1
  BlockCyclic rows, columns;  // of the patches behind them
  BlockCyclic first;          // columns of the first face

  int patches() const { return first_face + rows.count; }
};

// As square as possible; more rows than columns, since the ranks of a column of the grid share the
// work on a panel, for which other columns wait.
comm::GridShape grid_of(int ranks, comm::GridShape wanted);

// Columns of a panel: enough for the rate of matrix products, few enough that the ranks' shares
// differ little.
int default_block(int unknowns, comm::GridShape grid);

Distribution distribute(int first_face, int patches, comm::GridShape grid, int my_row,
                        int my_column, int block);

}  // namespace tabane::slalom
