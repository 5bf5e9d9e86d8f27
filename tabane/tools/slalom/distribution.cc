#include "tabane/tools/slalom/distribution.h"

#include <algorithm>

namespace tabane::slalom {

comm::GridShape grid_of(int ranks, comm::GridShape wanted) {
  const comm::GridShape shape = comm::fit_grid(ranks, wanted);
  if (wanted.rows != 0 || wanted.columns != 0) return shape;
  return {shape.columns, shape.rows};
}

int default_block(int unknowns, comm::GridShape grid) {
  constexpr int kMost = 192, kLeast = 8;
  const int side = std::max(grid.rows, grid.columns);
  return std::clamp(unknowns / (8 * side) / kLeast * kLeast, kLeast, kMost);
}

Distribution distribute(int first_face, int patches, comm::GridShape grid, int my_row,
                        int my_column, int block) {
  const int rest = patches - first_face;
  return {.first_face = first_face,
          .rows = {rest, block, grid.rows, my_row},
          .columns = {rest, block, grid.columns, my_column},
          .first = {first_face, block, grid.columns, my_column}};
}

}  // namespace tabane::slalom
