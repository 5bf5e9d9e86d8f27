#include "tabane/tools/linpack/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "tabane/comm/collectives.h"
#include "tabane/solver/model.h"
#include "tabane/tools/linpack/accuracy.h"

namespace tabane::linpack {
namespace {

double bytes_of(double n, int block, comm::GridShape grid, bool from_file) {
  const double file = from_file ? n * n * sizeof(double) : 0;
  return bytes_needed(n, block, grid.rows, grid.columns) + file;
}

// Back substitution in the triangle that the elimination leaves.
class Substitution {
 public:
  Substitution(comm::Grid& grid, const Layout& layout, LocalMatrix& matrix)
      : grid_(grid),
        layout_(layout),
        matrix_(matrix),
        sum_(layout.local_rows),
        x_(layout.local_columns) {
    if (layout.columns.owner_of_index(layout.n) != grid.my_column()) return;
    std::copy_n(matrix.at(0, layout.columns.count_before(layout.n)), sum_.size(), sum_.begin());
  }

  // The next block waits only for the part of this one's columns that is in its rows; what they do
  // to the rows above is done while the next block's ranks solve it.
  std::vector<double> run() {
    for (int number = layout_.panels() - 1; number >= 0; --number) {
      solve_block(number);
      subtract(number, rows_before(number - 1), rows_before(number));
      if (number + 1 < layout_.panels()) subtract(number + 1, 0, rows_before(number));
    }
    return whole();
  }

 private:
  // Solves for the block's part of x, and brings it to the ranks of its column.
  void solve_block(int number) {
    const int width = layout_.width_of(number), row = row_of(number), column = column_of(number);
    const int first_column = layout_.columns.count_before(layout_.first_of(number));
    const std::span<double> x = std::span(x_).subspan(
        first_column, column == grid_.my_column() ? static_cast<std::size_t>(width) : 0);
    if (row == grid_.my_row()) {
      const std::span<double> own =
          std::span(sum_).subspan(rows_before(number), static_cast<std::size_t>(width));
      if (grid_.columns() > 1) comm::reduce(grid_.row(), own, comm::Operation::sum, column);
      if (!x.empty()) {
        std::ranges::copy(own, x.begin());
        grid_.all().compute(solver::pass(width * width / 2.0, 2));
        cblas_dtrsv(CblasColMajor, CblasUpper, CblasNoTrans, CblasNonUnit, width,
                    matrix_.at(rows_before(number), first_column), static_cast<int>(matrix_.ld()),
                    x.data(), 1);
      }
    }
    if (!x.empty() && grid_.rows() > 1) comm::broadcast(grid_.column(), x, row);
  }

  // Subtracts the block's columns times its x from local rows [first_row, end_row).
  // cost: one pass over the rows, which come from memory: an operation for 4 bytes.
  void subtract(int number, int first_row, int end_row) {
    if (column_of(number) != grid_.my_column() || first_row >= end_row) return;
    const int column = layout_.columns.count_before(layout_.first_of(number));
    grid_.all().compute(
        solver::pass(static_cast<double>(end_row - first_row) * layout_.width_of(number), 2));
    cblas_dgemv(CblasColMajor, CblasNoTrans, end_row - first_row, layout_.width_of(number), -1,
                matrix_.at(first_row, column), static_cast<int>(matrix_.ld()), x_.data() + column,
                1, 1, sum_.data() + first_row, 1);
  }

  std::vector<double> whole() const;

  // Local rows before those of a block.
  int rows_before(int number) const {
    return layout_.rows.count_before(std::max(layout_.first_of(number), 0));
  }
  int row_of(int number) const { return layout_.rows.owner_of_index(layout_.first_of(number)); }
  int column_of(int number) const {
    return layout_.columns.owner_of_index(layout_.first_of(number));
  }

  comm::Grid& grid_;
  const Layout& layout_;
  LocalMatrix& matrix_;
  std::vector<double> sum_;  // this rank's share of y - U x in its rows
  std::vector<double> x_;    // in its columns
};

std::vector<double> Substitution::whole() const {
  std::vector<double> own(x_.begin(), x_.begin() + layout_.columns.count_before(layout_.n));
  const comm::Parts<double> parts = comm::all_gather_varying(grid_.row(), own);
  std::vector<double> x(layout_.n);
  const double* next = parts.values.data();
  for (int column = 0; column < grid_.columns(); ++column) {
    const solver::BlockCyclic theirs = layout_.columns.of(column);
    const int count = theirs.count_before(layout_.n);
    for (int local = 0; local < count; ++local) {
      x[theirs.global(local)] = *next++;
    }
  }
  return x;
}

// Solves U x = y, where column n of the matrix is y; returns x, whole, on every rank. All call it.
// No element of U's diagonal is 0.
std::vector<double> substitute(comm::Grid& grid, const Layout& layout, LocalMatrix& matrix,
                               comm::Steps& steps) {
  const auto in = steps.in(kSubstitution);
  return Substitution(grid, layout, matrix).run();
}

// Also solves a small system, so that the ranks have code and buffers at hand when the clock
// starts.
void measure_limit(comm::Grid& grid, SolvedSystem& answer) {
  comm::Comm& comm = grid.all();
  if (comm.transport().crowded()) return;  // both would take as long as the solution
  comm.set_phase("rate of matrix products");
  constexpr int kFewEquations = 500;  // do not come near it
  if (answer.n >= kFewEquations) {
    answer.solution.limit = solver::measure_product_rate(comm);
    answer.solution.limit_is = "DGEMM on all ranks";
  }
  constexpr int kSmall = 400;
  solve(comm, RandomSystem(std::min(answer.n, kSmall), 1),
        {.block = answer.block, .grid = {grid.rows(), grid.columns()}});
}

}  // namespace

// Measured on two ranks; other grids as if each had two ranks' share of columns.
int default_block(int n, comm::GridShape grid) {
  const int of_two = static_cast<int>(2LL * n / std::max(grid.rows, grid.columns));
  if (of_two <= 1200) return 48;
  if (of_two <= 2500) return 64;
  if (of_two <= 3500) return 96;
  return of_two <= 6000 ? 128 : 192;
}

int default_size(int ranks, double memory) {
  constexpr double kOfTwo = 8000;
  const double of_time = kOfTwo * std::cbrt(ranks / 2.0);
  const double of_memory = std::sqrt(memory / 8 / sizeof(double));
  const int n = static_cast<int>(std::min({of_time, of_memory, double{kMostEquations}}));
  return n < 1000 ? n : n / 500 * 500;
}

int largest_that_fits(double memory, int block, comm::GridShape grid, bool from_file) {
  int fits = 0, too_large = kMostEquations + 1;
  while (too_large - fits > 1) {
    const int n = fits + (too_large - fits) / 2;
    (bytes_of(n, block, grid, from_file) <= memory ? fits : too_large) = n;
  }
  return fits;
}

void require_memory(int n, int block, comm::GridShape grid, double memory, bool from_file) {
  solver::require_memory(
      bytes_of(n, block, grid, from_file), memory, [&](const auto& needed, const auto& usable) {
        return fmt::format("{} equations need {}, and there are {}: the largest n that fits is {}",
                           n, needed, usable, largest_that_fits(memory, block, grid, from_file));
      });
}

SolvedSystem solve(comm::Comm& comm, const System& system, const SolveOptions& options) {
  comm::Grid grid(comm, options.grid);
  SolvedSystem answer{.n = system.n(), .block = options.block};
  if (answer.block == 0) {
    answer.block = options.messages == Messages::by_rows
                       ? kBlockByRows
                       : default_block(system.n(), {grid.rows(), grid.columns()});
  }
  solver::Solution& solution = answer.solution;
  solution = {.ranks = comm.size(), .rows = grid.rows(), .columns = grid.columns()};
  if (options.measure_limit) measure_limit(grid, answer);
  const Layout layout(grid, answer.n, answer.block);
  comm.set_phase("filling of the matrix");
  LocalMatrix matrix(layout, system);
  Panels panels{Panel(layout), Panel(layout)};
  comm::Steps steps = make_steps(comm);
  comm::barrier(comm);
  const Eliminated done = eliminate_all(grid, layout, matrix, panels, steps, options.messages);
  answer.defect = done.defect;
  std::vector<double> x;
  if (answer.defect < 0) x = substitute(grid, layout, matrix, steps);
  steps.in(kWaiting, [&] { comm::barrier(comm); });
  solution.steps = steps.gather();
  solution.seconds = solution.steps.seconds_of_slowest();
  solution.operations = operations(answer.n);
  if (answer.defect >= 0) return answer;
  comm.set_phase("check");
  const Verified verified = verify(grid, layout, system, x);
  solution.check = verified.check;
  LuFactors factors(grid, layout, matrix, done.pivots);
  answer.error = estimate_error(factors, x, verified.doubt);
  if (comm.rank() == 0) answer.x = std::move(x);
  return answer;
}

}  // namespace tabane::linpack
