// The exchange of rows, as a panel's pivots chose them, in the columns right of it.
#pragma once

#include <vector>

#include "tabane/comm/grid.h"
#include "tabane/workloads/linpack/panel.h"

namespace tabane::workloads::linpack {

// Where rows lie on one row of ranks: exchanges them in place, in local columns
// [first, first + count).
// cost: per column 2 width elements, each on a cache line of its own.
void exchange_rows(LocalMatrix& matrix, const Panel& panel, int first, int count);

// Where they lie on several: brings the rows of the diagonal block to all ranks of the column, and
// those that were there to where these came from.
class RowExchange {
 public:
  RowExchange(comm::Grid& grid, const Layout& layout, const Panel& panel);

  // In local columns [first, first + count). u: width x count, column by column: gets the rows of
  // the diagonal block; the matrix keeps others there. All ranks of the column call it.
  // cost: width count numbers to every rank, and as many at most from the diagonal's.
  void run(LocalMatrix& matrix, int first, int count, std::vector<double>& u);

 private:
  struct Move {
    int from, to;  // rows of the whole matrix
  };
  std::vector<double> pack(LocalMatrix& matrix, const std::vector<Move>& moves, int first,
                           int count) const;

  comm::Grid& grid_;
  const Layout& layout_;
  int width_, first_row_, diagonal_;
  std::vector<std::vector<Move>> into_top_;  // by the rank that has the row
  std::vector<std::vector<Move>> from_top_;  // by the rank that gets it
};

}  // namespace tabane::workloads::linpack
