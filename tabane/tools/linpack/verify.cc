#include "tabane/tools/linpack/verify.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "tabane/comm/collectives.h"

namespace tabane::linpack {
namespace {

constexpr double kTolerance = 16;
constexpr double kEps = DBL_EPSILON / 2;

// max() of the ranks passes over NaN.
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
  std::vector<double> all = {};  // where they are
};

RowSums row_sums(comm::Grid& grid, const Layout& layout, const System& system,
                 std::span<const double> x) {
  const auto rows = static_cast<std::size_t>(layout.local_rows);
  std::vector<double> sums(3 * rows), column(rows);
  for (int local = 0; local < layout.local_columns; ++local) {
    const int j = layout.columns.global(local);
    layout.read(system, j, column);
    const double factor = j == layout.n ? -1 : x[static_cast<std::size_t>(j)];
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
  std::vector<double> doubt(static_cast<std::size_t>(layout.n));
  for (int local = 0; local < layout.local_rows; ++local) {
    const auto i = static_cast<std::size_t>(local);
    doubt[static_cast<std::size_t>(layout.rows.global(local))] =
        std::abs(sums.differences[i]) + kEps * sums.magnitudes[i];
  }
  comm::all_reduce(grid.column(), doubt, comm::Operation::sum);
  return doubt;
}

double largest_right_side(const Layout& layout, const System& system) {
  std::vector<double> b(static_cast<std::size_t>(layout.local_rows));
  layout.read(system, layout.n, b);
  return largest(b);
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

}  // namespace tabane::linpack
