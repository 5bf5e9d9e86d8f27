// Ranks laid out in rows and columns.
#pragma once

#include "tabane/comm/comm.h"

namespace tabane::comm {

struct GridShape {
  int rows = 0, columns = 0;  // 0: chosen, as square as possible with rows <= columns
  bool operator==(const GridShape&) const = default;
};

// Replaces zeros. throws: core::UsageError if rows x columns is not `ranks`.
GridShape fit_grid(int ranks, GridShape shape = {});

// rows x columns ranks, row by row: rank r of the group is in row r / columns, column r % columns.
class Grid {
 public:
  // All ranks call it. throws: core::UsageError as fit_grid().
  Grid(Comm& comm, int rows, int columns);
  explicit Grid(Comm& comm, GridShape shape = {});

  int rows() const { return shape_.rows; }
  int columns() const { return shape_.columns; }
  int my_row() const { return all_.rank() / shape_.columns; }
  int my_column() const { return all_.rank() % shape_.columns; }
  int rank_at(int row, int column) const;  // both wrap round

  Comm& all() { return all_; }
  Comm& row() { return row_; }        // the ranks of this rank's row, by column
  Comm& column() { return column_; }  // the ranks of this rank's column, by row

  // Neighbours, as ranks in all(); the grid wraps round.
  int north() const { return rank_at(my_row() - 1, my_column()); }
  int south() const { return rank_at(my_row() + 1, my_column()); }
  int west() const { return rank_at(my_row(), my_column() - 1); }
  int east() const { return rank_at(my_row(), my_column() + 1); }

 private:
  Comm all_;
  GridShape shape_;
  Comm row_, column_;
};

}  // namespace tabane::comm
