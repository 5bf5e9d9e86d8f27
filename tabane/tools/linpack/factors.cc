#include "tabane/tools/linpack/factors.h"

#include <algorithm>
#include <utility>

#include "tabane/comm/collectives.h"

namespace tabane::linpack {

Factors::Factors(comm::Grid& grid, const Layout& layout, LocalMatrix& matrix,
                 const std::vector<int>& pivots)
    : grid_(grid),
      layout_(layout),
      matrix_(matrix),
      pivots_(pivots),
      taken_(static_cast<std::size_t>(layout.n)),
      rows_(static_cast<std::size_t>(layout.local_rows)) {}

Factors::Panel Factors::panel(int number) const {
  const int first = layout_.first_of(number), width = layout_.width_of(number);
  return {first,
          width,
          layout_.columns.count_before(first),
          layout_.columns.owner(first) == grid_.my_column(),
          layout_.rows.count_before(first),
          layout_.rows.count_before(first + width)};
}

// A = P1 L1 P2 L2 ... U: L's columns are kept as they were when their panel was done, before the
// exchanges of later panels.
void Factors::exchange(const Panel& panel, std::span<double> x) const {
  for (int i = panel.first; i < panel.first + panel.width; ++i) {
    const auto row = static_cast<std::size_t>(i);
    std::swap(x[row], x[static_cast<std::size_t>(pivots_[row])]);
  }
}

void Factors::exchange_back(const Panel& panel, std::span<double> x) const {
  for (int i = panel.first + panel.width; i-- > panel.first;) {
    const auto row = static_cast<std::size_t>(i);
    std::swap(x[row], x[static_cast<std::size_t>(pivots_[row])]);
  }
}

// Local rows [first_row, end_row) of the panel times its part of x.
void Factors::take_columns(const Panel& panel, std::span<const double> x, int first_row,
                           int end_row) {
  if (!panel.mine || first_row >= end_row) return;
  cblas_dgemv(CblasColMajor, CblasNoTrans, end_row - first_row, panel.width, 1,
              matrix_.at(first_row, panel.local_column), static_cast<int>(matrix_.ld()),
              x.data() + panel.first, 1, 0, rows_.data(), 1);
  for (int local = first_row; local < end_row; ++local) {
    taken_[static_cast<std::size_t>(layout_.rows.global(local))] +=
        rows_[static_cast<std::size_t>(local - first_row)];
  }
}

// The panel's columns times x in local rows [first_row, end_row).
void Factors::take_rows(const Panel& panel, std::span<const double> x, int first_row, int end_row) {
  if (!panel.mine || first_row >= end_row) return;
  for (int local = first_row; local < end_row; ++local) {
    rows_[static_cast<std::size_t>(local - first_row)] =
        x[static_cast<std::size_t>(layout_.rows.global(local))];
  }
  cblas_dgemv(CblasColMajor, CblasTrans, end_row - first_row, panel.width, 1,
              matrix_.at(first_row, panel.local_column), static_cast<int>(matrix_.ld()),
              rows_.data(), 1, 1, taken_.data() + panel.first, 1);
}

// The panel's part of x, once what all ranks have taken from it is known.
void Factors::solve_block(const Panel& panel, std::span<double> x, CBLAS_UPLO part,
                          CBLAS_TRANSPOSE transpose) {
  const auto first = static_cast<std::size_t>(panel.first);
  const auto width = static_cast<std::size_t>(panel.width);
  const std::span<double> own = x.subspan(first, width);
  const std::span<double> taken = std::span(taken_).subspan(first, width);
  const int root =
      grid_.rank_at(layout_.rows.owner(panel.first), layout_.columns.owner(panel.first));
  comm::reduce(grid_.all(), taken, comm::Operation::sum, root);
  if (grid_.all().rank() == root) {
    std::ranges::transform(own, taken, own.begin(), std::minus<>());
    cblas_dtrsv(CblasColMajor, part, transpose, part == CblasLower ? CblasUnit : CblasNonUnit,
                panel.width, matrix_.at(panel.above, panel.local_column),
                static_cast<int>(matrix_.ld()), own.data(), 1);
  }
  comm::broadcast(grid_.all(), own, root);
}

void Factors::solve(std::span<double> x) {
  std::ranges::fill(taken_, 0);
  for (int number = 0; number < layout_.panels(); ++number) {
    const Panel at = panel(number);
    exchange(at, x);
    exchange(at, taken_);
    solve_block(at, x, CblasLower, CblasNoTrans);
    take_columns(at, x, at.end, layout_.local_rows);
  }
  std::ranges::fill(taken_, 0);
  for (int number = layout_.panels(); number-- > 0;) {
    const Panel at = panel(number);
    solve_block(at, x, CblasUpper, CblasNoTrans);
    take_columns(at, x, 0, at.above);
  }
}

void Factors::solve_transposed(std::span<double> x) {
  std::ranges::fill(taken_, 0);
  for (int number = 0; number < layout_.panels(); ++number) {
    const Panel at = panel(number);
    take_rows(at, x, 0, at.above);
    solve_block(at, x, CblasUpper, CblasTrans);
  }
  std::ranges::fill(taken_, 0);
  for (int number = layout_.panels(); number-- > 0;) {
    const Panel at = panel(number);
    take_rows(at, x, at.end, layout_.local_rows);
    solve_block(at, x, CblasLower, CblasTrans);
    exchange_back(at, x);
  }
}

}  // namespace tabane::linpack
