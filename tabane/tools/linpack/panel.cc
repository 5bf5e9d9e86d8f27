#include <array>
#include <utility>
#include <vector>

#include "tabane/comm/collectives.h"
#include "tabane/comm/grid.h"
#include "tabane/solver/model.h"
#include "tabane/tools/linpack/elimination.h"

namespace tabane::linpack {
namespace {

using Row = std::vector<double>;

Row row_of(Panel& panel, int row) {
  Row values(panel.width());
  for (int j = 0; j < panel.width(); ++j) values[j] = *panel.lower(row, j);
  return values;
}

void put(const Row& values, double* to, std::ptrdiff_t stride) {
  for (const double value : values) {
    *to = value;
    to += stride;
  }
}

// Finds the largest of the ranks' candidates for step `column` of the panel, copies its row to row
// `column` of everyone's `top`, and puts the row that was there into its place. own: this rank's
// candidate, its row counted from the first that is not done yet. All ranks of the column call it.
void take_pivot_row(comm::Grid& grid, const Layout& layout, Panel& panel, int column,
                    const Pivot& own) {
  comm::Comm& ranks = grid.column();
  const int above = panel.rows_of_top(column);
  // A rank without rows loses even to one that has only NaN.
  const bool has_rows = panel.rows() > above;
  const int candidate = has_rows ? above + own.row : 0;
  const auto best = comm::all_reduce_max_loc(ranks, has_rows ? own.magnitude : -2.0,
                                             layout.rows.global(panel.first_row() + candidate));
  const int top_rank = layout.rows.owner_of_index(panel.first());
  panel.set_pivot(column, static_cast<int>(best.index));
  Row pivot_row(panel.width()), top_row;
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

std::size_t most_doubles(const Layout& layout) {
  const auto block = static_cast<std::size_t>(layout.block);
  return static_cast<std::size_t>(column_stride(layout.local_rows)) * block + block * block +
         block + 1;
}

class Factorisation {
 public:
  Factorisation(comm::Grid& grid, const Layout& layout, Panel& panel, comm::Steps& steps)
      : grid_(grid), layout_(layout), panel_(panel), steps_(steps) {}

  //   columns      cost on m rows           most of it runs as
  //   <= 8         8 m a column             one pass over the leaf a column, in a cache
  //   w            m (w / 2)^2 2            product of m x w/2 and w/2 x w/2
  void factorise(int first, int count) {
    if (count <= kLeafColumns) return leaf(first, count);
    const int leaves = (count + kLeafColumns - 1) / kLeafColumns;
    const int left = leaves / 2 * kLeafColumns, right = count - left, middle = first + left;
    factorise(first, left);
    const int above = panel_.rows_of_top(middle);
    grid_.all().compute(solver::triangle(left, right));
    grid_.all().compute(solver::product(panel_.rows() - above, right, left));
    solve_unit_lower(left, right, panel_.top(first, first), panel_.ld_top(),
                     panel_.top(first, middle), panel_.ld_top());
    subtract_product(panel_.rows() - above, right, left, panel_.lower(above, first), panel_.ld(),
                     panel_.top(first, middle), panel_.ld_top(), panel_.lower(above, middle),
                     panel_.ld());
    factorise(middle, right);
  }

 private:
  // With one row of ranks only the leaf's own columns are exchanged at once, the others all
  // together when it is done.
  void leaf(int first, int count) {
    const bool alone = grid_.rows() == 1;
    int above = panel_.rows_of_top(first);
    Pivot found = find_pivot(panel_.lower(above, first), panel_.rows() - above);
    for (int column = first; column < first + count; ++column) {
      if (alone) {
        panel_.set_pivot(column, panel_.first() + above + found.row);
        exchange_in(first, count, column, 1);
      } else {
        const auto in = steps_.in(kPivot);
        take_pivot_row(grid_, layout_, panel_, column, found);
      }
      const double pivot = *panel_.top(column, column);
      std::array<double, kLeafColumns> u{};
      const int right = first + count - column - 1;
      for (int i = 0; i < right; ++i) u[i] = *panel_.top(column, column + 1 + i);
      above = panel_.rows_of_top(column + 1);
      const int below = panel_.rows() - above;
      grid_.all().compute(solver::pass(below * (right + 1.0), 2, 16));
      if (pivot != 0) {
        found =
            eliminate(panel_.lower(above, column), panel_.ld(), below, right + 1, pivot, u.data());
      } else {  // and so are all elements below it
        if (panel_.defect() < 0) panel_.set_defect(panel_.first() + column);
        if (right > 0) found = find_pivot(panel_.lower(above, column + 1), below);
      }
    }
    if (!alone) return;
    const auto in = steps_.in(kPivot);
    exchange_in(0, first, first, count);
    exchange_in(first + count, panel_.width() - first - count, first, count);
  }

  // Exchanges pairs of rows in some columns, as steps first … first + steps - 1 chose them; for one
  // row of ranks.
  void exchange_in(int first_column, int count, int first, int steps) {
    for (int column = first_column; column < first_column + count; ++column) {
      for (int i = first; i < first + steps; ++i) {
        std::swap(*panel_.lower(i, column),
                  *panel_.lower(panel_.pivot(i) - panel_.first(), column));
      }
    }
  }

  comm::Grid& grid_;
  const Layout& layout_;
  Panel& panel_;
  comm::Steps& steps_;
};

}  // namespace

Panel::Panel(const Layout& layout)
    : layout_(layout),
      memory_(most_doubles(layout) * sizeof(double), {.pages = core::PageSize::huge_if_large}) {
  memory_.touch();
}

void Panel::place(int number) {
  first_ = layout_.first_of(number);
  width_ = layout_.width_of(number);
  first_row_ = layout_.rows.count_before(first_);
  rows_ = layout_.local_rows - first_row_;
  has_diagonal_ = layout_.rows.owner_of_index(first_) == layout_.rows.mine;
  ld_ = column_stride(rows_);
  lower_ = memory_.as<double>().data();
  double* end = lower_ + ld_ * width_;
  top_ = has_diagonal_ ? lower_ : end;
  ld_top_ = has_diagonal_ ? ld_ : width_;
  pivots_ = has_diagonal_ ? end : end + width_ * width_;
  doubles_ = pivots_ + width_ + 1 - lower_;
}

void factorise(comm::Grid& grid, const Layout& layout, Panel& panel, comm::Steps& steps) {
  const auto in = steps.in(kPanel);
  panel.set_defect(-1);
  Factorisation(grid, layout, panel, steps).factorise(0, panel.width());
}

}  // namespace tabane::linpack
