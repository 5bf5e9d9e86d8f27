// Solves with the factors that the elimination leaves, for right sides that come later.
#pragma once

#include <span>
#include <vector>

#include "tabane/comm/grid.h"
#include "tabane/solver/blas.h"
#include "tabane/tools/linpack/local_matrix.h"

namespace tabane::linpack {

class Factors {
 public:
  // matrix, pivots: as eliminate_all() leaves them, without a defect.
  Factors(comm::Grid& grid, const Layout& layout, LocalMatrix& matrix,
          const std::vector<int>& pivots);

  // x := A^-1 x and x := A^-T x, where x is whole and the same on all ranks, which all call it.
  // cost: 2 n^2 operations of all ranks together, and 4 small messages to all a panel.
  void solve(std::span<double> x);
  void solve_transposed(std::span<double> x);

 private:
  struct Panel {
    int first, width, local_column;
    bool mine;       // this rank has some of its columns
    int above, end;  // local rows before those of its diagonal block, and before those below it
  };
  Panel panel(int number) const;
  void exchange(const Panel& panel, std::span<double> x) const;
  void exchange_back(const Panel& panel, std::span<double> x) const;
  void take_columns(const Panel& panel, std::span<const double> x, int first_row, int end_row);
  void take_rows(const Panel& panel, std::span<const double> x, int first_row, int end_row);
  void solve_block(const Panel& panel, std::span<double> x, CBLAS_UPLO part,
                   CBLAS_TRANSPOSE transpose);

  comm::Grid& grid_;
  const Layout& layout_;
  LocalMatrix& matrix_;
  const std::vector<int>& pivots_;
  std::vector<double> taken_;  // what is to be taken from x, this rank's share
  std::vector<double> rows_;   // a value for each local row
};

}  // namespace tabane::linpack
