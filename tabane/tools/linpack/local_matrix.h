// One rank's part of the n x (n + 1) matrix [A b].
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tabane/comm/grid.h"
#include "tabane/core/memory.h"
#include "tabane/tools/linpack/block_cyclic.h"
#include "tabane/tools/linpack/system.h"

namespace tabane::linpack {

// Which rows and columns a rank of the grid has.
struct Layout {
  Layout(const comm::Grid& grid, int n, int block);

  int n, block;
  BlockCyclic rows, columns;
  int local_rows, local_columns;  // with the right side, column n

  int panels() const { return (n + block - 1) / block; }
  int first_of(int panel) const { return panel * block; }
  int width_of(int panel) const { return first_of(panel + 1) <= n ? block : n - first_of(panel); }
  // Reads this rank's rows of one column; out: local_rows.
  void read(const System& system, int column, std::span<double> out) const;
};

// Columns are stored one after the other, each from a cache line on.
class LocalMatrix {
 public:
  // Filled with the system's. throws: core::SystemError if memory is refused.
  LocalMatrix(const Layout& layout, const System& system);

  std::ptrdiff_t ld() const { return ld_; }
  double* at(int local_row, int local_column) {
    return values_.data() + local_row + local_column * ld_;
  }

 private:
  std::ptrdiff_t ld_;
  core::Region memory_;
  std::span<double> values_;
};

// Elements between columns of so many: whole cache lines, an odd number of them, so that a row's
// elements spread over all sets of a cache.
constexpr std::ptrdiff_t column_stride(int rows) {
  const std::ptrdiff_t lines = (rows + 7) / 8;
  return 8 * (lines % 2 == 0 ? lines + 1 : lines);
}

}  // namespace tabane::linpack
