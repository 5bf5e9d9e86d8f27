#include "tabane/tools/scg/iterate.h"

#include <cmath>
#include <span>

#include "tabane/comm/collectives.h"
#include "tabane/simd/elementwise.h"
#include "tabane/simd/reduction.h"

namespace tabane::scg {
namespace {

// x is brought up to date in every second iteration. There p' of the iteration before is taken from
// p = r + beta p', which costs no memory traffic, but an error of u ||r|| / beta: u ||r'|| /
// sqrt(beta). With smaller beta x is updated before p' is gone.
constexpr double kLeastBeta = 1.0 / 64;

class Iteration {
 public:
  Iteration(comm::Comm& comm, System& system, Halo& halo, comm::Steps& steps)
      : comm_(comm), system_(system), halo_(halo), steps_(steps) {}

  // (r, r) over all ranks.
  double square_of_r() {
    double sum = 0;
    {
      const auto in = steps_.in(kUpdate);
      for (std::size_t i = 0; i < system_.block().rows; ++i) {
        const std::span<const double> row(system_.r.row(static_cast<std::ptrdiff_t>(i)),
                                          system_.block().columns);
        sum += simd::dot(row, row);
      }
    }
    return sum_over_ranks(sum);
  }

  // p := r + beta p. Returns (p, A p).
  double turn(double beta) {
    if (behind_ && beta < kLeastBeta) catch_up();
    beta_ = beta;
    {
      const auto in = steps_.in(kHalo);
      halo_.begin(system_.r, beta, system_.p);
    }
    const Couplings couplings = system_.couplings();
    double sum = 0;
    {
      const auto in = steps_.in(kDirection);
      sum = new_direction(system_.extent(), system_.r.row(0), beta, system_.p.row(0), couplings);
    }
    {
      const auto in = steps_.in(kWaiting);
      halo_.wait();
    }
    {
      const auto in = steps_.in(kHalo);
      halo_.place(system_.p);
      sum -= 2 * halo_.cut_edges(system_.p, couplings);
    }
    return sum_over_ranks(sum);
  }

  // r := r - alpha A p, x := x + alpha p, now or in the next iteration. Returns (r, r).
  double advance(double alpha) {
    SolutionUpdate solution;
    if (behind_) {
      const double before = alpha_ / beta_;
      solution = {system_.x.row(0), alpha + before, before};
    }
    behind_ = !behind_;
    alpha_ = alpha;
    double sum = 0;
    {
      const auto in = steps_.in(kUpdate);
      sum = update(system_.extent(), system_.p.row(0), alpha, system_.r.row(0), solution,
                   system_.couplings());
    }
    return sum_over_ranks(sum);
  }

  // Adds what x has not got yet.
  void catch_up() {
    if (!behind_) return;
    behind_ = false;
    const auto in = steps_.in(kUpdate);
    for (std::size_t i = 0; i < system_.block().rows; ++i) {
      const auto row = static_cast<std::ptrdiff_t>(i);
      const std::size_t columns = system_.block().columns;
      simd::axpy(alpha_, {system_.p.row(row), columns}, {system_.x.row(row), columns});
    }
  }

 private:
  // Not CollectiveOptions::reproducible: on shared memory up to 16 ranks are added in their order
  // anyhow, and elsewhere the rules of the caller are to decide what a reduction is made of.
  double sum_over_ranks(double own) {
    const auto in = steps_.in(kReductions);
    return comm::all_reduce(comm_, own, comm::Operation::sum);
  }

  comm::Comm& comm_;
  System& system_;
  Halo& halo_;
  comm::Steps& steps_;
  double alpha_ = 0, beta_ = 0;
  bool behind_ = false;  // x lacks alpha_ p
};

}  // namespace

Progress iterate(comm::Comm& comm, System& system, Halo& halo, comm::Steps& steps, double tolerance,
                 std::size_t most_iterations) {
  comm::barrier(comm);
  const auto in = steps.in(kRest);
  Iteration iteration(comm, system, halo, steps);
  Progress progress;
  const double first = iteration.square_of_r(), least = tolerance * tolerance * first;
  double square = first, beta = 0;
  while (square > least && progress.iterations < most_iterations) {
    const double curvature = iteration.turn(beta);
    if (!(curvature > 0)) break;  // rounding has the last word
    const double next = iteration.advance(square / curvature);
    beta = next / square;
    square = next;
    ++progress.iterations;
  }
  iteration.catch_up();
  progress.converged = square <= least;
  if (first > 0) progress.residual = std::sqrt(square / first);
  return progress;
}

}  // namespace tabane::scg
