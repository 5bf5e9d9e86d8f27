#include "tabane/tools/scg/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "tabane/comm/collectives.h"
#include "tabane/core/units.h"
#include "tabane/simd/elementwise.h"
#include "tabane/simd/reduction.h"
#include "tabane/solver/model.h"
#include "tabane/tools/scg/equation.h"

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
        const std::span<const double> row(system_.r.row(i), system_.block().columns);
        sum += simd::dot(row, row);
      }
      tell_computed(2);
    }
    return sum_over_ranks(sum);
  }

  // p := r + beta p. Returns (p, A p).
  double turn(double beta) {
    if (behind_ && beta < kLeastBeta) catch_up();
    beta_ = beta;
    steps_.in(kHalo, [&] { halo_.begin(system_.r, beta, system_.p); });
    const Couplings couplings = system_.couplings();
    const double inside = steps_.in(kDirection, [&] {
      tell_computed(kOperations / 2);
      return new_direction(system_.extent(), system_.r.row(0), beta, system_.p.row(0), couplings);
    });
    steps_.in(kWaiting, [&] { halo_.wait(); });
    const double cut = steps_.in(kHalo, [&] {
      halo_.place(system_.p);
      return halo_.cut_edges(system_.p, couplings);
    });
    return sum_over_ranks(inside - 2 * cut);
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
    return sum_over_ranks(steps_.in(kUpdate, [&] {
      tell_computed(kOperations / 2);
      return update(system_.extent(), system_.p.row(0), alpha, system_.r.row(0), solution,
                    system_.couplings());
    }));
  }

  // Adds what x has not got yet.
  void catch_up() {
    if (!behind_) return;
    behind_ = false;
    const auto in = steps_.in(kUpdate);
    tell_computed(2);
    const Block& block = system_.block();
    for (std::size_t i = 0; i < block.rows; ++i)
      simd::axpy(alpha_, {system_.p.row(i), block.columns}, {system_.x.row(i), block.columns});
  }

 private:
  // operations: per unknown; an iteration's are in two passes over the memory.
  void tell_computed(double operations) {
    const auto unknowns = static_cast<double>(system_.block().unknowns());
    comm_.compute({.kind = solver::kStencil,
                   .operations = operations * unknowns,
                   .bytes = bytes_per_unknown(!system_.east.exists()) / 2 * unknowns});
  }

  // Not CollectiveOptions::reproducible: on shared memory up to 16 ranks are added in their order
  // anyway, and elsewhere the rules of the caller decide what a reduction is made of.
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

std::vector<double> packed(const Field& field, const Block& block) {
  std::vector<double> values(block.unknowns());
  for (std::size_t i = 0; i < block.rows; ++i) {
    std::copy_n(field.row(i), block.columns, values.data() + i * block.columns);
  }
  return values;
}

// A power of two that brings the right side's largest number near 1.
double factor_of(comm::Comm& comm, const System& system) {
  const double most = largest_in(comm, system.r);
  return most > 0 && std::isfinite(most) ? scale_to_one(most) : 1;
}

// The triad over the vectors of the solution, which are needed no more: as many bytes, in the same
// place.
double limit_of(comm::Comm& comm, const System& system, double bytes_per_unknown) {
  const double bandwidth =
      solver::triad_bandwidth(comm, system.p.all(), system.r.all(), system.x.all());
  return kOperations * bandwidth / bytes_per_unknown;
}

std::size_t default_iterations(const Problem& problem) {
  return std::max<std::size_t>(10'000, 20 * (problem.rows + problem.columns));
}

}  // namespace

Progress iterate(comm::Comm& comm, System& system, Halo& halo, comm::Steps& steps, double tolerance,
                 std::size_t most_iterations) {
  comm::barrier(comm);
  const auto in = steps.in(kOther);
  Iteration iteration(comm, system, halo, steps);
  Progress progress;
  const double first = iteration.square_of_r(), least = tolerance * tolerance * first;
  double square = first, beta = 0;
  while (square > least && progress.iterations < most_iterations) {
    const double curvature = iteration.turn(beta);
    if (!(curvature > 0)) break;  // only rounding is left
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

solver::Check verify(comm::Comm& comm, const Problem& problem, const System& system, Halo& halo,
                     double tolerance, std::size_t iterations) {
  halo.exchange(system.x);
  const Equations<double> equations(problem, system.block(), {}, true);
  enum { kResidual, kRightSide, kSolution, kSums };
  std::array<double, kSums> sums{};
  for (std::size_t i = 0; i < system.block().rows; ++i) {
    const double* const u = system.x.row(i);
    for (std::size_t j = 0; j < system.block().columns; ++j) {
      const Balance<double> balance = equations.at({system.x}, i, j);
      const double root = std::sqrt(balance.diagonal), factor = system.factor();
      const std::array<double, kSums> terms{balance.residual / root * factor,
                                            balance.right / root * factor, u[j] * root * factor};
      for (std::size_t k = 0; k < kSums; ++k) sums[k] += terms[k] * terms[k];
    }
  }
  comm::all_reduce(comm, sums, comm::Operation::sum);
  const double right = std::sqrt(sums[kRightSide]);
  if (right == 0) return {std::sqrt(sums[kResidual]), 0};
  const double steps = std::sqrt(static_cast<double>(iterations + 1));
  const double rounding = kRounding * 0x1p-53 * steps * std::sqrt(sums[kSolution]) / right;
  return {std::sqrt(sums[kResidual]) / right, tolerance + std::min(rounding, kMostRounding)};
}

std::vector<double> gather_field(comm::Comm& comm, const Problem& problem, comm::GridShape grid,
                                 const Field& field) {
  std::vector<std::size_t> counts;
  for (int rank = 0; rank < comm.size(); ++rank) {
    counts.push_back(block_of(problem, grid, rank).unknowns());
  }
  const bool is_root = comm.rank() == 0;
  const std::vector<double> own = packed(field, block_of(problem, grid, comm.rank()));
  std::vector<double> parts(is_root ? problem.rows * problem.columns : 0);
  comm::gather_varying(comm, own, parts, counts, 0);
  if (!is_root || grid.columns == 1) return parts;  // rows of blocks follow each other already
  std::vector<double> whole(parts.size());
  const double* from = parts.data();
  for (int rank = 0; rank < comm.size(); ++rank) {
    const Block block = block_of(problem, grid, rank);
    for (std::size_t i = 0; i < block.rows; ++i) {
      const std::size_t to = (block.first_row + i) * problem.columns + block.first_column;
      std::copy_n(from, block.columns, whole.data() + to);
      from += block.columns;
    }
  }
  return whole;
}

SolvedMesh solve(comm::Comm& comm, const Problem& problem, const SolveOptions& options,
                 std::vector<double>* values) {
  const comm::GridShape grid = choose_grid(comm.size(), problem, options.grid);
  const Block block = block_of(problem, grid, comm.rank());
  System scaled(problem, block);
  scaled.normalise(factor_of(comm, scaled));
  Halo halo(comm, block);
  comm::Steps steps = make_steps(comm);
  const std::size_t most =
      options.most_iterations > 0 ? options.most_iterations : default_iterations(problem);
  const Progress progress = iterate(comm, scaled, halo, steps, options.tolerance, most);
  scaled.unscale();
  SolvedMesh answer{.rows = problem.rows,
                    .columns = problem.columns,
                    .iterations = progress.iterations,
                    .converged = progress.converged,
                    .bytes_per_unknown = bytes_per_unknown(is_uniform(problem))};
  solver::Solution& solution = answer.solution;
  solution.ranks = comm.size();
  solution.rows = grid.rows;
  solution.columns = grid.columns;
  solution.operations = operations(static_cast<double>(problem.rows * problem.columns),
                                   static_cast<double>(progress.iterations));
  solution.check = verify(comm, problem, scaled, halo, options.tolerance, progress.iterations);
  solution.check.complete = progress.converged;
  if (options.prove || needs_proof(problem)) {
    const std::size_t left = options.most_iterations > 0 ? most - progress.iterations : 10 * most;
    const Proof& proof = answer.proof = prove(comm, problem, scaled, halo, options.tolerance, left);
    if (std::isfinite(proof.bound)) solution.check = {proof.residual, options.tolerance};
    answer.converged = solution.check.complete = proof.bound <= options.tolerance;
  }
  solution.steps = steps.gather();
  solution.seconds = solution.steps.seconds_of_slowest();
  if (values != nullptr) *values = gather_field(comm, problem, grid, scaled.x);
  if (options.measure_limit && !comm.transport().crowded()) {
    solution.limit = limit_of(comm, scaled, answer.bytes_per_unknown);
    const double bandwidth = solution.limit * answer.bytes_per_unknown / kOperations;
    solution.limit_is =
        fmt::format("what the triad's {} on all ranks allow", core::format_value(bandwidth, "B/s"));
  }
  return answer;
}

}  // namespace tabane::scg
