#include <optional>

#include "tabane/comm/collectives.h"
#include "tabane/solver/blas.h"
#include "tabane/solver/model.h"
#include "tabane/tools/slalom/factors.h"

namespace tabane::slalom {
namespace {

// Copies `rows` x `columns` numbers.
void copy_block(int rows, int columns, const double* from, std::size_t ld_from, double* to,
                std::size_t ld_to) {
  for (int j = 0; j < columns; ++j, from += ld_from, to += ld_to) std::copy_n(from, rows, to);
}

constexpr int kSmall = 16;

void factor_small(double* a, int n, std::size_t ld) {
  for (int k = 0; k < n; ++k) {
    double* const pivot = a + static_cast<std::size_t>(k) * ld;
    const double inverse = 1 / pivot[k];
    for (int j = k + 1; j < n; ++j) {
      double* const column = a + static_cast<std::size_t>(j) * ld;
      const double factor = pivot[j] * inverse;
      for (int i = j; i < n; ++i) column[i] -= pivot[i] * factor;
    }
    for (int i = k + 1; i < n; ++i) pivot[i] *= inverse;
  }
}

}  // namespace

PanelExchange::PanelExchange(comm::Grid& grid, comm::Steps& steps, const Distribution& distribution,
                             int matrices)
    : grid_(grid), steps_(steps), distribution_(distribution) {
  begin(-1, distribution.rows.block, matrices);
  grid.all().compute(
      {.kind = solver::kMemory, .bytes = static_cast<double>(bytes(distribution, matrices))});
}

std::size_t PanelExchange::bytes(const Distribution& distribution, int matrices) {
  const auto columns = static_cast<std::size_t>(distribution.columns.my_count());
  const auto rows = static_cast<std::size_t>(distribution.rows.my_count());
  const auto one_column =
      rows + 2 * columns + columns / static_cast<std::size_t>(distribution.rows.parts);
  return one_column * static_cast<std::size_t>(distribution.rows.block * matrices) * sizeof(double);
}

void PanelExchange::begin(int after, int inner, int matrices) {
  after_ = after;
  inner_ = inner;
  matrices_ = matrices;
  rows_ = distribution_.rows.my_count() - distribution_.rows.indices_before(after + 1);
  columns_ = distribution_.columns.my_count() - distribution_.columns.indices_before(after + 1);
  left_.resize((panel_numbers() + static_cast<std::size_t>(inner)) *
               static_cast<std::size_t>(matrices));
  right_.resize(right_numbers() * static_cast<std::size_t>(matrices));
}

std::span<double> PanelExchange::scales(int q) {
  const auto inner = static_cast<std::size_t>(inner_);
  const std::size_t begin = panel_numbers() * static_cast<std::size_t>(matrices_);
  return std::span(left_).subspan(begin + inner * static_cast<std::size_t>(q), inner);
}

const double* PanelExchange::right(int q) const {
  return right_.data() + right_numbers() * static_cast<std::size_t>(q);
}

// In the column of the grid each rank sends its part to each other one: to the next, from the one
// before, then to the second next …
void PanelExchange::share(int owner) {
  steps_.in(kWaiting, [&] { comm::barrier(grid_.all()); });
  const auto in = steps_.in(kBroadcast);
  if (grid_.columns() > 1) comm::broadcast(grid_.row(), left_, owner);
  comm::Comm& column = grid_.column();
  const std::span<const double> own = own_part();
  const int mine = column.rank(), parts = column.size();
  for (int step = 1; step < parts; ++step) {
    const int to = (mine + step) % parts, from = (mine + parts - step) % parts;
    std::optional<comm::Request> sent;
    if (!own.empty()) sent.emplace(column.isend(to, own));
    const auto rows = static_cast<std::size_t>(shared_rows(from));
    if (rows > 0) {
      received_.resize(rows * static_cast<std::size_t>(inner_ * matrices_));
      column.recv(from, received_);
      take_part(from, received_.data(), rows);
    }
    if (sent) sent->wait();
  }
  take_part(mine, left_.data(), ld());
  grid_.all().compute(solver::copies(static_cast<double>(right_.size())));
}

// Returns how many rows of that part of the column are columns of this rank.
int PanelExchange::shared_rows(int part) const {
  const solver::BlockCyclic& rows = distribution_.rows;
  int sum = 0;
  for (int b = after_ + 1; b < rows.blocks(); ++b) {
    if (rows.owner_of_block(b) == part &&
        distribution_.columns.owner_of_block(b) == distribution_.columns.mine) {
      sum += rows.size(b);
    }
  }
  return sum;
}

// With a single column all rows are shared, and need not be packed.
std::span<const double> PanelExchange::own_part() {
  const solver::BlockCyclic& rows = distribution_.rows;
  const solver::BlockCyclic& columns = distribution_.columns;
  const auto shared = static_cast<std::size_t>(shared_rows(rows.mine));
  const std::size_t numbers = shared * static_cast<std::size_t>(inner_ * matrices_);
  if (rows.parts == 1 || columns.parts == 1) return std::span(left_).first(numbers);
  packed_.resize(numbers);
  const int before = rows.indices_before(after_ + 1);
  double* to = packed_.data();
  for (int b = after_ + 1; b < rows.blocks(); ++b) {
    if (columns.owner_of_block(b) != columns.mine || rows.owner_of_block(b) != rows.mine) continue;
    const int row = rows.indices_before(b) - before, size = rows.size(b);
    copy_block(size, inner_ * matrices_, left(0) + row, ld(), to, shared);
    to += size;
  }
  return packed_;
}

// Puts the rows of a part where they belong in right(): this rank's own from its panels, another's
// from a message, which has none but those that are wanted here.
void PanelExchange::take_part(int part, const double* from, std::size_t ld_from) {
  const solver::BlockCyclic& columns = distribution_.columns;
  const solver::BlockCyclic rows = distribution_.rows.of(part);
  const bool own = part == distribution_.rows.mine;
  const int before_columns = columns.indices_before(after_ + 1);
  const int before_rows = rows.indices_before(after_ + 1);
  int row = 0;
  for (int b = after_ + 1; b < columns.blocks(); ++b) {
    if (columns.owner_of_block(b) != columns.mine || rows.owner_of_block(b) != part) continue;
    if (own) row = rows.indices_before(b) - before_rows;
    copy_block(rows.size(b), inner_ * matrices_, from + row, ld_from,
               right_.data() + (columns.indices_before(b) - before_columns), ld_right());
    row += rows.size(b);
  }
}

void PanelExchange::scale(int q, double* kept, std::size_t ld_kept) {
  double* column = left(q);
  for (const double factor : scales(q)) {
    if (kept == nullptr) {
      for (int i = 0; i < rows_; ++i) column[i] *= factor;
    } else {
      for (int i = 0; i < rows_; ++i) kept[i] = column[i] *= factor;
      kept += ld_kept;
    }
    column += ld();
  }
}

// Halves: L11 D1 L11^T = A11; X = A21 L11^-T; L21 = X D1^-1; then A22 - L21 X^T.
void factor_block(double* a, int n, std::size_t ld, std::vector<double>& space) {
  if (n <= kSmall) return factor_small(a, n, ld);
  const int half = n / 2 / 8 * 8, rest = n - half;
  const auto stride = static_cast<int>(ld);
  double* const below = a + half;
  double* const corner = a + static_cast<std::size_t>(half) * ld + half;
  factor_block(a, half, ld, space);
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasUnit, rest, half, 1, a,
              stride, below, stride);
  space.resize(std::max(space.size(), static_cast<std::size_t>(rest) * half));
  for (int j = 0; j < half; ++j) {
    double* const column = below + static_cast<std::size_t>(j) * ld;
    std::copy_n(column, rest, space.data() + static_cast<std::size_t>(j) * rest);
    const double inverse = 1 / a[static_cast<std::size_t>(j) * ld + j];
    for (int i = 0; i < rest; ++i) column[i] *= inverse;
  }
  solver::add_product(CblasNoTrans, CblasTrans, rest, rest, half, -1, below, stride, space.data(),
                      rest, corner, stride);
  factor_block(corner, rest, ld, space);
}

}  // namespace tabane::slalom
