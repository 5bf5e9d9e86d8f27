#include "tabane/tools/linpack/pivot_row.h"

#include <vector>

#include "tabane/comm/collectives.h"

namespace tabane::linpack {
namespace {

using Row = std::vector<double>;

Row row_of(Panel& panel, int row) {
  Row values(static_cast<std::size_t>(panel.width()));
  for (int j = 0; j < panel.width(); ++j)
    values[static_cast<std::size_t>(j)] = *panel.lower(row, j);
  return values;
}

void put(const Row& values, double* to, std::ptrdiff_t stride) {
  for (const double value : values) {
    *to = value;
    to += stride;
  }
}

}  // namespace

void take_pivot_row(comm::Grid& grid, const Layout& layout, Panel& panel, int column,
                    const Pivot& own) {
  comm::Comm& ranks = grid.column();
  const int above = panel.rows_of_top(column);
  // A rank without rows loses also to one that has NaN only.
  const bool has_rows = panel.rows() > above;
  const int candidate = has_rows ? above + own.row : 0;
  const auto best = comm::all_reduce_max_loc(ranks, has_rows ? own.magnitude : -2.0,
                                             layout.rows.global(panel.first_row() + candidate));
  const int top_rank = layout.rows.owner(panel.first());
  panel.set_pivot(column, static_cast<int>(best.index));
  Row pivot_row(static_cast<std::size_t>(panel.width())), top_row;
  if (panel.has_diagonal()) top_row = row_of(panel, column);
  const bool is_mine = best.rank == ranks.rank();
  if (is_mine) pivot_row = row_of(panel, candidate);
  comm::broadcast(ranks, pivot_row, best.rank);
  if (panel.has_diagonal() && !is_mine) ranks.send(best.rank, top_row);
  if (is_mine) {
    if (!panel.has_diagonal()) {
      top_row.resize(pivot_row.size());
      ranks.recv(top_rank, top_row);
    }
    put(top_row, panel.lower(candidate, 0), panel.ld());
  }
  put(pivot_row, panel.top(column, 0), panel.ld_top());
}

}  // namespace tabane::linpack
