// How good an x is: whether it solves A x = b, and how far it is from the true solution.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "tabane/comm/grid.h"
#include "tabane/solver/blas.h"
#include "tabane/solver/solution.h"
#include "tabane/tools/linpack/system.h"

namespace tabane::linpack {

struct Verified {
  solver::Check check;
  // What is in doubt in each equation: |A x - b|, and what a rounding of every element of A and b
  // makes, eps (|A| |x| + |b|). Whole on every rank.
  std::vector<double> doubt;
};

// Returns, as the check, the residual as High-Performance Linpack scales it,
//   ||A x - b|| / (eps (||A|| ||x|| + ||b||) n), in maximum norms, eps = 2^-53,
// and its tolerance, 16; the same on all ranks, which all call it. NaN, which does not pass, if
// something is not finite. A and b are read from the system again.
//
// Why this suffices: the residual is small if and only if x solves exactly a system whose elements
// differ from A's and b's by about that many roundings (Rigal and Gaches), and no method can
// promise more for elements that are rounded themselves. With partial pivoting it stays near 1
// unless the elements grow in the elimination, and then it shows that. Computed in doubles,
// component i is wrong by at most (n + 1) eps (|A| |x| + |b|)_i, so the residual by at most 1 + 1 /
// n: what passes is below 18. How far x is from the true solution, estimate_error() says.
Verified verify(comm::Grid& grid, const Layout& layout, const System& system,
                std::span<const double> x);

// The factors that the elimination leaves, to solve with right sides that come later.
class LuFactors {
 public:
  // matrix, pivots: as eliminate_all() leaves them, without a defect.
  LuFactors(comm::Grid& grid, const Layout& layout, LocalMatrix& matrix,
            const std::vector<int>& pivots);

  // x := A^-1 x and x := A^-T x, where x is whole and the same on all ranks, which all call it.
  // cost: 2 n^2 operations of all ranks together, and 4 small messages to all a panel.
  void solve(std::span<double> x);
  void solve_transposed(std::span<double> x);

 private:
  struct LocalPanel {
    int first, width, local_column;
    bool mine;       // this rank has some of its columns
    int above, end;  // local rows before those of its diagonal block, and before those below it
  };
  LocalPanel panel(int number) const;
  void exchange(int row, std::span<double> x) const;
  void take_columns(const LocalPanel& panel, std::span<const double> x, int first_row, int end_row);
  void take_rows(const LocalPanel& panel, std::span<const double> x, int first_row, int end_row);
  void solve_block(const LocalPanel& panel, std::span<double> x, CBLAS_UPLO part,
                   CBLAS_TRANSPOSE transpose);

  comm::Grid& grid_;
  const Layout& layout_;
  LocalMatrix& matrix_;
  const std::vector<int>& pivots_;
  std::vector<double> taken_;  // what is to be taken from x, this rank's share
  std::vector<double> rows_;   // a value for each local row
};

// Returns a lower bound of the largest column sum of |B|, where B is n x n and known by its
// products only; most often it is that sum, and hardly ever less than a third of it. multiply,
// multiply_transposed: x := B x, x := B^T x. cost: at most 6 products with B and 4 with B^T.
// source: Hager and Higham, as in LAPACK's DLACN2; N. J. Higham, FORTRAN codes for estimating the
// one-norm of a real or complex matrix, ACM Transactions on Mathematical Software 14, 1988.
double estimate_norm(int n, const std::function<void(std::span<double>)>& multiply,
                     const std::function<void(std::span<double>)>& multiply_transposed);

// Returns an estimate of the largest error of an element of x over the largest |x|: the largest
// element of |A^-1| doubt over the largest |x|, which is LAPACK's forward error bound (DGERFS),
// estimated by Hager's and Higham's method. Infinite where numbers overflow, as with a pivot near
// 0. All ranks call it.
//
// Why not a condition number: x - A^-1 b = A^-1 (A x - b), so with doubt = |A x - b| this bounds
// the error of this very x, however the elimination went. The rounding of A and b that is doubted,
// too, makes it a condition number after Skeel: it warns where A is nearly singular but A x - b
// happens to be small. Multiplying an equation by a number changes neither |A^-1| doubt nor x, so
// bad scaling alone never alarms. A condition of A itself would alarm then, and that of A with its
// rows and columns scaled would miss an x that is spoiled by a bad scaling of the rows, or that
// hardly depends on a column.
//
// x, doubt: whole, the same on all ranks, and of verify(). cost: 10 solves at most, so 20 n^2
// operations, outside of what is timed.
double estimate_error(LuFactors& factors, std::span<const double> x, std::span<const double> doubt);

}  // namespace tabane::linpack
