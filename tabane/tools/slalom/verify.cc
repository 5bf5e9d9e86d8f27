#include "tabane/tools/slalom/verify.h"

#include <algorithm>
#include <cmath>

#include "tabane/comm/collectives.h"
#include "tabane/solver/blas.h"

namespace tabane::slalom {
namespace {

constexpr double kTolerance = 0.5e-8;  // the benchmark's is that of three colours together

}  // namespace

solver::Check verify(const Geometry& geometry, const Region& region,
                     const Distribution& distribution, const std::vector<double>& sums,
                     const std::vector<double>& radiosities, comm::Comm& all) {
  const auto n = static_cast<std::size_t>(region.size());
  const int stride = region.size();
  std::vector<double> products(kColours * n);  // C x
  const auto side = static_cast<std::size_t>(distribution.rows.block);
  std::vector<double> block(side * side);
  const auto add = [&](const CouplingBlock& part) {
    const auto ld = static_cast<int>(part.ld);
    const double* const x = radiosities.data();
    solver::add_product(CblasNoTrans, CblasNoTrans, part.rows, kColours, part.columns, 1,
                        part.numbers, ld, x + part.column, stride, products.data() + part.row,
                        stride);
    if (part.diagonal()) return;
    solver::add_product(CblasTrans, CblasNoTrans, part.columns, kColours, part.rows, 1,
                        part.numbers, ld, x + part.row, stride, products.data() + part.column,
                        stride);
  };
  for_each_block(
      geometry, region, distribution,
      [&](bool, int, int) {
        return BlockPlace{block.data(), side};
      },
      add);
  comm::all_reduce(all, products, comm::Operation::sum, {.reproducible = true});
  solver::Check check{0, kTolerance};
  for (std::size_t q = 0; q < kColours; ++q) {
    double residual = 0, largest_x = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto face = static_cast<std::size_t>(region.patches[i].face);
      const double diagonal = sums[i] / geometry.reflectivity[q][face];
      const double x = radiosities[q * n + i];
      residual += std::abs(x - geometry.emissivity[q][face] - products[q * n + i] / diagonal);
      largest_x = std::max(largest_x, std::abs(x));
    }
    const double relative = residual / largest_x;
    if (relative > check.residual || std::isnan(relative)) check.residual = relative;
  }
  return check;
}

}  // namespace tabane::slalom
