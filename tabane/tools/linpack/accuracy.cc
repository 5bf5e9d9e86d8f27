#include "tabane/tools/linpack/accuracy.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <limits>
#include <utility>

#include "tabane/comm/collectives.h"

namespace tabane::linpack {
namespace {

constexpr double kTolerance = 16;
constexpr double kEps = DBL_EPSILON / 2;

// The reduction to a maximum ignores NaN.
double as_infinite(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
}

double largest(std::span<const double> values) {
  double most = 0;
  for (const double value : values) most = std::max(most, as_infinite(std::abs(value)));
  return most;
}

// Of this rank's rows: the sums of |a|, of a x - b, and of |a x| + |b|.
struct RowSums {
  std::span<const double> norms, differences, magnitudes;
  std::vector<double> all = {};  // holds the three
};

RowSums row_sums(comm::Grid& grid, const Layout& layout, const System& system,
                 std::span<const double> x) {
  const auto rows = static_cast<std::size_t>(layout.local_rows);
  std::vector<double> sums(3 * rows), column(rows);
  for (int local = 0; local < layout.local_columns; ++local) {
    const int j = layout.columns.global(local);
    layout.read(system, j, column);
    const double factor = j == layout.n ? -1 : x[j];
    const double counted = j == layout.n ? 0 : 1;
    for (std::size_t i = 0; i < rows; ++i) {
      sums[i] += counted * std::abs(column[i]);
      sums[rows + i] += column[i] * factor;
      sums[2 * rows + i] += std::abs(column[i] * factor);
    }
  }
  comm::all_reduce(grid.row(), sums, comm::Operation::sum);
  const std::span<const double> all = sums;
  return {all.first(rows), all.subspan(rows, rows), all.last(rows), std::move(sums)};
}

std::vector<double> doubt_of(comm::Grid& grid, const Layout& layout, const RowSums& sums) {
  std::vector<double> doubt(layout.n);
  for (int local = 0; local < layout.local_rows; ++local) {
    const auto i = static_cast<std::size_t>(local);
    doubt[layout.rows.global(local)] = std::abs(sums.differences[i]) + kEps * sums.magnitudes[i];
  }
  comm::all_reduce(grid.column(), doubt, comm::Operation::sum);
  return doubt;
}

double largest_right_side(const Layout& layout, const System& system) {
  std::vector<double> b(layout.local_rows);
  layout.read(system, layout.n, b);
  return largest(b);
}

double sum_of_magnitudes(std::span<const double> x) {
  double sum = 0;
  for (const double value : x) sum += std::abs(value);
  return std::isnan(sum) ? std::numeric_limits<double>::infinity() : sum;
}

// Returns where |x| is largest.
std::size_t peak(std::span<const double> x) {
  const auto less = [](double a, double b) { return std::abs(a) < std::abs(b); };
  return static_cast<std::size_t>(std::ranges::max_element(x, less) - x.begin());
}

}  // namespace

Verified verify(comm::Grid& grid, const Layout& layout, const System& system,
                std::span<const double> x) {
  const RowSums sums = row_sums(grid, layout, system, x);
  Verified verified{{0, kTolerance}, doubt_of(grid, layout, sums)};
  std::array<double, 3> norms{largest(sums.norms), largest(sums.differences),
                              largest_right_side(layout, system)};
  comm::all_reduce(grid.all(), norms, comm::Operation::max);
  const auto [norm_a, difference, norm_b] = norms;
  const double norm_x = largest(x);
  if (difference == 0) return verified;
  if (!std::isfinite(norm_a + difference + norm_b + norm_x)) {
    verified.check.residual = std::numeric_limits<double>::quiet_NaN();
  } else {
    // In a wider range: the product of two norms may be too large for a double.
    const long double scale = static_cast<long double>(norm_a) * norm_x + norm_b;
    verified.check.residual = static_cast<double>(difference / (scale * kEps * layout.n));
  }
  return verified;
}

LuFactors::LuFactors(comm::Grid& grid, const Layout& layout, LocalMatrix& matrix,
                     const std::vector<int>& pivots)
    : grid_(grid),
      layout_(layout),
      matrix_(matrix),
      pivots_(pivots),
      taken_(layout.n),
      rows_(layout.local_rows) {}

LuFactors::LocalPanel LuFactors::panel(int number) const {
  const int first = layout_.first_of(number), width = layout_.width_of(number);
  return {first,
          width,
          layout_.columns.count_before(first),
          layout_.columns.owner_of_index(first) == grid_.my_column(),
          layout_.rows.count_before(first),
          layout_.rows.count_before(first + width)};
}

// A = P1 L1 P2 L2 ... U: L's columns are kept as they were when their panel was done, before the
// exchanges of later panels.
void LuFactors::exchange(int row, std::span<double> x) const {
  const auto pivot = static_cast<std::size_t>(pivots_[row]);
  std::swap(x[row], x[pivot]);
}

// Adds local rows [first_row, end_row) of the panel times its part of x.
void LuFactors::take_columns(const LocalPanel& panel, std::span<const double> x, int first_row,
                             int end_row) {
  if (!panel.mine || first_row >= end_row) return;
  cblas_dgemv(CblasColMajor, CblasNoTrans, end_row - first_row, panel.width, 1,
              matrix_.at(first_row, panel.local_column), static_cast<int>(matrix_.ld()),
              x.data() + panel.first, 1, 0, rows_.data(), 1);
  for (int local = first_row; local < end_row; ++local) {
    taken_[layout_.rows.global(local)] += rows_[local - first_row];
  }
}

// Adds the panel's columns times x in local rows [first_row, end_row).
void LuFactors::take_rows(const LocalPanel& panel, std::span<const double> x, int first_row,
                          int end_row) {
  if (!panel.mine || first_row >= end_row) return;
  for (int local = first_row; local < end_row; ++local) {
    rows_[local - first_row] = x[layout_.rows.global(local)];
  }
  cblas_dgemv(CblasColMajor, CblasTrans, end_row - first_row, panel.width, 1,
              matrix_.at(first_row, panel.local_column), static_cast<int>(matrix_.ld()),
              rows_.data(), 1, 1, taken_.data() + panel.first, 1);
}

// Solves for the panel's part of x, once what all ranks have taken from it is known.
void LuFactors::solve_block(const LocalPanel& panel, std::span<double> x, CBLAS_UPLO part,
                            CBLAS_TRANSPOSE transpose) {
  const auto first = static_cast<std::size_t>(panel.first);
  const auto width = static_cast<std::size_t>(panel.width);
  const std::span<double> own = x.subspan(first, width);
  const std::span<double> taken = std::span(taken_).subspan(first, width);
  const int root = grid_.rank_at(layout_.rows.owner_of_index(panel.first),
                                 layout_.columns.owner_of_index(panel.first));
  comm::reduce(grid_.all(), taken, comm::Operation::sum, root);
  if (grid_.all().rank() == root) {
    std::ranges::transform(own, taken, own.begin(), std::minus<>());
    cblas_dtrsv(CblasColMajor, part, transpose, part == CblasLower ? CblasUnit : CblasNonUnit,
                panel.width, matrix_.at(panel.above, panel.local_column),
                static_cast<int>(matrix_.ld()), own.data(), 1);
  }
  comm::broadcast(grid_.all(), own, root);
}

void LuFactors::solve(std::span<double> x) {
  std::ranges::fill(taken_, 0);
  for (int number = 0; number < layout_.panels(); ++number) {
    const LocalPanel at = panel(number);
    for (int row = at.first; row < at.first + at.width; ++row) {
      exchange(row, x);
      exchange(row, taken_);
    }
    solve_block(at, x, CblasLower, CblasNoTrans);
    take_columns(at, x, at.end, layout_.local_rows);
  }
  std::ranges::fill(taken_, 0);
  for (int number = layout_.panels(); number-- > 0;) {
    const LocalPanel at = panel(number);
    solve_block(at, x, CblasUpper, CblasNoTrans);
    take_columns(at, x, 0, at.above);
  }
}

void LuFactors::solve_transposed(std::span<double> x) {
  std::ranges::fill(taken_, 0);
  for (int number = 0; number < layout_.panels(); ++number) {
    const LocalPanel at = panel(number);
    take_rows(at, x, 0, at.above);
    solve_block(at, x, CblasUpper, CblasTrans);
  }
  std::ranges::fill(taken_, 0);
  for (int number = layout_.panels(); number-- > 0;) {
    const LocalPanel at = panel(number);
    take_rows(at, x, at.end, layout_.local_rows);
    solve_block(at, x, CblasLower, CblasTrans);
    for (int row = at.first + at.width; row-- > at.first;) exchange(row, x);
  }
}

// The sum of |B x| is convex in x, so its largest value over sums of |x| of 1 is at a unit vector:
// each step goes to the one to which the gradient, B^T sign(B x), points.
double estimate_norm(int n, const std::function<void(std::span<double>)>& multiply,
                     const std::function<void(std::span<double>)>& multiply_transposed) {
  if (n == 0) return 0;
  constexpr int kMostSteps = 5;
  const auto size = static_cast<std::size_t>(n);
  std::vector<double> x(size, 1.0 / n), signs(size);
  multiply(x);
  double most = sum_of_magnitudes(x);
  for (int step = 1; step < kMostSteps; ++step) {
    const std::vector<double> last = signs;
    std::ranges::transform(x, signs.begin(), [](double value) { return value < 0 ? -1.0 : 1.0; });
    if (signs == last) break;
    std::vector<double> gradient = signs;
    multiply_transposed(gradient);
    const std::size_t next = peak(gradient);
    std::ranges::fill(x, 0);
    x[next] = 1;
    multiply(x);
    const double found = sum_of_magnitudes(x);
    if (!(found > most)) break;
    most = found;
  }
  // Where the steps above see nothing but cancellation, this vector does not.
  for (std::size_t i = 0; i < size; ++i) {
    x[i] = (i % 2 == 0 ? 1 : -1) * (1 + static_cast<double>(i) / std::max(n - 1, 1));
  }
  multiply(x);
  return std::max(most, 2 * sum_of_magnitudes(x) / (3 * n));
}

// The largest row sum of A^-1 D is the largest column sum of D A^-T, D having doubt on its
// diagonal.
double estimate_error(LuFactors& factors, std::span<const double> x,
                      std::span<const double> doubt) {
  const auto scale = [&](std::span<double> v) {
    std::ranges::transform(v, doubt, v.begin(), std::multiplies<>());
  };
  const double error = estimate_norm(
      static_cast<int>(x.size()),
      [&](std::span<double> v) {
        factors.solve_transposed(v);
        scale(v);
      },
      [&](std::span<double> v) {
        scale(v);
        factors.solve(v);
      });
  double largest = 0;
  for (const double value : x) largest = std::max(largest, std::abs(value));
  return error == 0 ? 0 : std::isinf(error) ? error : error / largest;
}

}  // namespace tabane::linpack
