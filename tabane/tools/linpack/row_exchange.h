// The exchange of rows, as a panel's pivots chose them, in the columns right of it.
#pragma once

#include <cstddef>
#include <vector>

#include "tabane/comm/grid.h"
#include "tabane/tools/linpack/panel.h"

namespace tabane::linpack {

// Where rows lie on one row of ranks: exchanges them in place, in local columns
// [first, first + count).
// cost: per column 2 width elements, each on a cache line of its own.
void exchange_rows(LocalMatrix& matrix, const Panel& panel, int first, int count);

// Memory that an exchange uses, kept from one to the next.
struct ExchangeRoom {
  std::vector<double> up, all_up, down, all_down;
};

// Where they lie on several: brings the rows of the diagonal block to all ranks of the column, and
// those that were there to where these came from.
class RowExchange {
 public:
  RowExchange(comm::Grid& grid, const Layout& layout, const Panel& panel, ExchangeRoom& room);

  // In local columns [first, first + count). u: width x count, column by column: gets the rows of
  // the diagonal block; the matrix keeps others there. All ranks of the column call it.
  // cost: width count numbers to every rank, and as many at most from the diagonal's.
  void run(LocalMatrix& matrix, int first, int count, std::vector<double>& u);

 private:
  struct Move {
    int local;      // row of the rank that has it
    int top;        // row of the diagonal block that it becomes or was
    int local_top;  // and which one that is of the diagonal's rank
  };
  using Moves = std::vector<std::vector<Move>>;

  std::vector<std::size_t> counts_of(const Moves& moves, int columns) const;
  void gather_top(LocalMatrix& matrix, int first, int count, std::vector<double>& u);
  void scatter_rest(LocalMatrix& matrix, int first, int count);

  comm::Grid& grid_;
  ExchangeRoom& room_;
  std::size_t width_;
  int diagonal_;
  Moves into_top_;  // by the rank that has the row
  Moves from_top_;  // by the rank that gets it
};

}  // namespace tabane::linpack
