#include "tabane/solver/bandwidth.h"

#include <algorithm>

#include "tabane/comm/collectives.h"
#include "tabane/core/clock.h"
#include "tabane/simd/elementwise.h"

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

}  // namespace tabane::solver
