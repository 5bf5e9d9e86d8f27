#include "tabane/solver/solution.h"

#include <algorithm>
#include <vector>

#include "tabane/comm/collectives.h"
#include "tabane/core/clock.h"
#include "tabane/simd/elementwise.h"
#include "tabane/solver/blas.h"
#include "tabane/solver/model.h"

namespace tabane::solver {
namespace {

double best_of_rounds(comm::Comm& comm, std::span<double> a, std::span<const double> b,
                      std::span<const double> c, simd::Streaming streaming) {
  constexpr int kLeastRounds = 5, kMostRounds = 200;
  constexpr double kLeastSeconds = 0.05;
  double best = 0, total = 0;
  for (int round = 0; round < kLeastRounds || (total < kLeastSeconds && round < kMostRounds);
       ++round) {
    comm::barrier(comm);
    const double begin = core::tick_clock().now();
    simd::triad(b, 0.5, c, a, streaming);
    const double own = core::tick_clock().now() - begin;
    const double seconds = comm::all_reduce(comm, own, comm::Operation::max);
    const double bytes =
        comm::all_reduce(comm, 24.0 * static_cast<double>(a.size()), comm::Operation::sum);
    best = std::max(best, bytes / seconds);
    total += seconds;
  }
  return best;
}

}  // namespace

// Which way is better depends on whether the parts of all ranks together fit into a shared cache.
double triad_bandwidth(comm::Comm& comm, std::span<double> a, std::span<const double> b,
                       std::span<const double> c) {
  const double through_caches = best_of_rounds(comm, a, b, c, simd::Streaming::never());
  return std::max(through_caches, best_of_rounds(comm, a, b, c, simd::Streaming::always()));
}

double measure_product_rate(comm::Comm& comm, int n, int rounds) {
  const double operations = 2.0 * n * n * n;
  if (comm.transport().name() == "sim") {
    const double begin = comm.now();
    comm.compute(product(n, n, n));
    const double seconds = comm.now() - begin;
    if (!(seconds > 0)) {
      throw core::UsageError(
          "--machine: products take no time there: give it compute or compute.product");
    }
    return comm.size() * operations / seconds;
  }
  const auto elements = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  const std::vector<double> a(elements, 1.0 / n), b(elements, 0.5);
  std::vector<double> c(elements);
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
