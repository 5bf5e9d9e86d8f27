#include "tabane/solver/blas.h"

#include <algorithm>
#include <vector>

#include "tabane/comm/collectives.h"
#include "tabane/core/clock.h"

namespace tabane::solver {

double measure_product_rate(comm::Comm& comm, int n, int rounds) {
  const auto elements = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  const std::vector<double> a(elements, 1.0 / n), b(elements, 0.5);
  std::vector<double> c(elements);
  const double operations = 2.0 * n * n * n;
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    comm::barrier(comm);
    const double begin = core::tick_clock().now();
    add_product(CblasNoTrans, CblasNoTrans, n, n, n, 1, a.data(), n, b.data(), n, c.data(), n);
    const double own = operations / (core::tick_clock().now() - begin);
    best = std::max(best, comm::all_reduce(comm, own, comm::Operation::sum));
  }
  return best;
}

}  // namespace tabane::solver
