#include "tabane/tools/linpack/substitution.h"

#include <algorithm>
#include <span>

#include "tabane/comm/collectives.h"
#include "tabane/solver/blas.h"

namespace tabane::linpack {
namespace {

class Substitution {
 public:
  Substitution(comm::Grid& grid, const Layout& layout, LocalMatrix& matrix);

  std::vector<double> run();

 private:
  void solve_block(int number);
  void subtract(int number, int first_row, int end_row);
  std::vector<double> whole() const;

  // Local rows before those of a block.
  int rows_before(int number) const {
    return layout_.rows.count_before(std::max(layout_.first_of(number), 0));
  }
  int row_of(int number) const { return layout_.rows.owner(layout_.first_of(number)); }
  int column_of(int number) const { return layout_.columns.owner(layout_.first_of(number)); }

  comm::Grid& grid_;
  const Layout& layout_;
  LocalMatrix& matrix_;
  std::vector<double> sum_;  // this rank's share of y - U x in its rows
  std::vector<double> x_;    // in its columns
};

Substitution::Substitution(comm::Grid& grid, const Layout& layout, LocalMatrix& matrix)
    : grid_(grid),
      layout_(layout),
      matrix_(matrix),
      sum_(static_cast<std::size_t>(layout.local_rows)),
      x_(static_cast<std::size_t>(layout.local_columns)) {
  if (layout.columns.owner(layout.n) != grid.my_column()) return;
  std::copy_n(matrix.at(0, layout.columns.count_before(layout.n)), sum_.size(), sum_.begin());
}

// The block's part of x, known to the ranks of its column.
void Substitution::solve_block(int number) {
  const int width = layout_.width_of(number), row = row_of(number), column = column_of(number);
  const int first_column = layout_.columns.count_before(layout_.first_of(number));
  const std::span<double> x =
      std::span(x_).subspan(static_cast<std::size_t>(first_column),
                            column == grid_.my_column() ? static_cast<std::size_t>(width) : 0);
  if (row == grid_.my_row()) {
    const std::span<double> own = std::span(sum_).subspan(
        static_cast<std::size_t>(rows_before(number)), static_cast<std::size_t>(width));
    if (grid_.columns() > 1) comm::reduce(grid_.row(), own, comm::Operation::sum, column);
    if (!x.empty()) {
      std::ranges::copy(own, x.begin());
      cblas_dtrsv(CblasColMajor, CblasUpper, CblasNoTrans, CblasNonUnit, width,
                  matrix_.at(rows_before(number), first_column), static_cast<int>(matrix_.ld()),
                  x.data(), 1);
    }
  }
  if (!x.empty() && grid_.rows() > 1) comm::broadcast(grid_.column(), x, row);
}

// Takes the block's columns times its x away from local rows [first_row, end_row).
// cost: one pass over the rows, which come from memory: an operation for 4 bytes.
void Substitution::subtract(int number, int first_row, int end_row) {
  if (column_of(number) != grid_.my_column() || first_row >= end_row) return;
  const int column = layout_.columns.count_before(layout_.first_of(number));
  cblas_dgemv(CblasColMajor, CblasNoTrans, end_row - first_row, layout_.width_of(number), -1,
              matrix_.at(first_row, column), static_cast<int>(matrix_.ld()), x_.data() + column, 1,
              1, sum_.data() + first_row, 1);
}

// The next block waits only for the part of this one's columns that lies in its rows; what they do
// to the rows above is done while the next block's ranks solve it.
std::vector<double> Substitution::run() {
  for (int number = layout_.panels() - 1; number >= 0; --number) {
    solve_block(number);
    subtract(number, rows_before(number - 1), rows_before(number));
    if (number + 1 < layout_.panels()) subtract(number + 1, 0, rows_before(number));
  }
  return whole();
}

std::vector<double> Substitution::whole() const {
  std::vector<double> own(x_.begin(), x_.begin() + layout_.columns.count_before(layout_.n));
  const comm::Parts<double> parts = comm::all_gather_varying(grid_.row(), own);
  std::vector<double> x(static_cast<std::size_t>(layout_.n));
  const double* next = parts.values.data();
  for (int column = 0; column < grid_.columns(); ++column) {
    const BlockCyclic theirs{layout_.block, grid_.columns(), column};
    const int count = theirs.count_before(layout_.n);
    for (int local = 0; local < count; ++local) {
      x[static_cast<std::size_t>(theirs.global(local))] = *next++;
    }
  }
  return x;
}

}  // namespace

std::vector<double> substitute(comm::Grid& grid, const Layout& layout, LocalMatrix& matrix,
                               comm::Steps& steps) {
  const auto in = steps.in(kSubstitution);
  return Substitution(grid, layout, matrix).run();
}

}  // namespace tabane::linpack
