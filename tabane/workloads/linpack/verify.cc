#include "tabane/workloads/linpack/verify.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <limits>
#include <vector>

#include "tabane/comm/collectives.h"

namespace tabane::workloads::linpack {
namespace {

constexpr double kTolerance = 16;

// max() of the ranks passes over NaN.
double as_infinite(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::infinity() : value;
}

double largest(std::span<const double> values) {
  double most = 0;
  for (const double value : values) most = std::max(most, as_infinite(std::abs(value)));
  return most;
}

// Of this rank's rows: the sums of |a| and of a x - b, one behind the other.
std::vector<double> row_sums(comm::Grid& grid, const Layout& layout, const System& system,
                             std::span<const double> x) {
  const auto rows = static_cast<std::size_t>(layout.local_rows);
  std::vector<double> sums(2 * rows), column(rows);
  for (int local = 0; local < layout.local_columns; ++local) {
    const int j = layout.columns.global(local);
    layout.read(system, j, column);
    const double factor = j == layout.n ? -1 : x[static_cast<std::size_t>(j)];
    const double counted = j == layout.n ? 0 : 1;
    for (std::size_t i = 0; i < rows; ++i) {
      sums[i] += counted * std::abs(column[i]);
      sums[rows + i] += column[i] * factor;
    }
  }
  comm::all_reduce(grid.row(), sums, comm::Operation::sum);
  return sums;
}

double largest_right_side(const Layout& layout, const System& system) {
  std::vector<double> b(static_cast<std::size_t>(layout.local_rows));
  layout.read(system, layout.n, b);
  return largest(b);
}

}  // namespace

Check verify(comm::Grid& grid, const Layout& layout, const System& system,
             std::span<const double> x) {
  const std::vector<double> sums = row_sums(grid, layout, system, x);
  const std::span<const double> all = sums;
  const std::size_t rows = all.size() / 2;
  std::array<double, 3> norms{largest(all.first(rows)), largest(all.last(rows)),
                              largest_right_side(layout, system)};
  comm::all_reduce(grid.all(), norms, comm::Operation::max);
  const auto [norm_a, difference, norm_b] = norms;
  const double norm_x = largest(x);
  if (difference == 0) return {0, kTolerance};
  if (!std::isfinite(norm_a + difference + norm_b + norm_x)) {
    return {std::numeric_limits<double>::quiet_NaN(), kTolerance};
  }
  // In a wider range: the product of two norms may be too large for a double.
  const long double scale = static_cast<long double>(norm_a) * norm_x + norm_b;
  constexpr double kEps = DBL_EPSILON / 2;
  return {static_cast<double>(difference / (scale * kEps * layout.n)), kTolerance};
}

}  // namespace tabane::workloads::linpack
