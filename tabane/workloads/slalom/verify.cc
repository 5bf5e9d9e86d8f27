#include "tabane/workloads/slalom/verify.h"

#include <algorithm>
#include <cmath>

#include "tabane/comm/collectives.h"
#include "tabane/workloads/blas.h"

namespace tabane::workloads::slalom {
namespace {

constexpr double kTolerance = 3 * 0.5e-8;

}  // namespace

Check verify(const Geometry& geometry, const Region& region, const Distribution& distribution,
             const std::vector<double>& sums, const std::vector<double>& radiosities,
             comm::Comm& all) {
  const auto n = static_cast<std::size_t>(region.size());
  const int stride = region.size();
  std::vector<double> products(kColours * n);  // C x
  const auto side = static_cast<std::size_t>(distribution.rows.block);
  std::vector<double> block(side * side);
  const auto add = [&](const CouplingBlock& part) {
    const auto ld = static_cast<int>(part.ld);
    const double* const x = radiosities.data();
    add_product(CblasNoTrans, CblasNoTrans, part.rows, kColours, part.columns, 1, part.numbers, ld,
                x + part.column, stride, products.data() + part.row, stride);
    if (part.diagonal()) return;
    add_product(CblasTrans, CblasNoTrans, part.columns, kColours, part.rows, 1, part.numbers, ld,
                x + part.row, stride, products.data() + part.column, stride);
  };
  for_each_block(
      geometry, region, distribution,
      [&](bool, int, int) {
        return BlockPlace{block.data(), side};
      },
      add);
  comm::all_reduce(all, products, comm::Operation::sum, {.reproducible = true});
  double residual = 0, largest_x = 0, largest_m = 0;
  for (std::size_t q = 0; q < kColours; ++q) {
    largest_x = largest_m = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto face = static_cast<std::size_t>(region.patches[i].face);
      // The largest of its row: the others together are S.
      const double diagonal = sums[i] / geometry.reflectivity[q][face];
      const double x = radiosities[q * n + i];
      residual += std::abs(diagonal * (x - geometry.emissivity[q][face]) - products[q * n + i]);
      largest_x = std::max(largest_x, std::abs(x));
      largest_m = std::max(largest_m, diagonal);
    }
  }
  return {residual / (largest_m * largest_x), kTolerance};
}

}  // namespace tabane::workloads::slalom
