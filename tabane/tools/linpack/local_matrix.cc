#include "tabane/tools/linpack/local_matrix.h"

#include <algorithm>

namespace tabane::linpack {
namespace {

core::Region room_for(std::size_t doubles) {
  return core::Region(std::max<std::size_t>(doubles, 1) * sizeof(double),
                      {.pages = core::PageSize::huge});
}

}  // namespace

Layout::Layout(const comm::Grid& grid, int size, int block_size)
    : n(size),
      block(block_size),
      rows{block, grid.rows(), grid.my_row()},
      columns{block, grid.columns(), grid.my_column()},
      local_rows(rows.count_before(n)),
      local_columns(columns.count_before(n + 1)) {}

void Layout::read(const System& system, int column, std::span<double> out) const {
  for (int local = 0; local < local_rows; local += block) {
    const int count = std::min(block, local_rows - local);
    system.read(column, rows.global(local),
                out.subspan(static_cast<std::size_t>(local), static_cast<std::size_t>(count)));
  }
}

LocalMatrix::LocalMatrix(const Layout& layout, const System& system)
    : ld_(column_stride(layout.local_rows)),
      memory_(
          room_for(static_cast<std::size_t>(ld_) * static_cast<std::size_t>(layout.local_columns))),
      values_(memory_.as<double>()) {
  for (int j = 0; j < layout.local_columns; ++j) {
    layout.read(system, layout.columns.global(j),
                {at(0, j), static_cast<std::size_t>(layout.local_rows)});
  }
}

}  // namespace tabane::linpack
