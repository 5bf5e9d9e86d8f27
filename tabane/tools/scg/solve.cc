#include "tabane/tools/scg/solve.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "tabane/comm/collectives.h"
#include "tabane/solver/bandwidth.h"
#include "tabane/tools/scg/gather.h"
#include "tabane/tools/scg/iterate.h"
#include "tabane/tools/scg/model.h"
#include "tabane/tools/scg/prove.h"
#include "tabane/tools/scg/verify.h"

namespace tabane::scg {
namespace {

// A span from the first row of a block to its last, padding included.
std::span<double> whole(const Field& field, const Block& block) {
  return {field.row(0), static_cast<std::size_t>(field.stride()) * block.rows};
}

// A power of two that brings the right side's largest number near 1.
double factor_of(comm::Comm& comm, const System& system) {
  double most = 0;
  for (const double value : whole(system.r, system.block()))
    most = std::max(most, std::fabs(value));
  most = comm::all_reduce(comm, most, comm::Operation::max);
  constexpr int kMost = 1000;  // 2^-1000 is a normal number, too
  return most > 0 && std::isfinite(most)
             ? std::ldexp(1, -std::clamp(std::ilogb(most), -kMost, kMost))
             : 1;
}

// The triad over the vectors of the solution, which are needed no more: as many bytes, in the same
// place.
double limit_of(comm::Comm& comm, const System& system, double bytes_per_unknown) {
  const Block& block = system.block();
  const double bandwidth = solver::triad_bandwidth(comm, whole(system.p, block),
                                                   whole(system.r, block), whole(system.x, block));
  return kOperations * bandwidth / bytes_per_unknown;
}

}  // namespace

std::size_t default_iterations(const Problem& problem) {
  return std::max<std::size_t>(10'000, 20 * (problem.rows + problem.columns));
}

Outcome solve(comm::Comm& comm, const Problem& problem, const Settings& settings,
              std::vector<double>* values) {
  const comm::GridShape grid = choose_grid(comm.size(), problem, settings.grid);
  const Block block = block_of(problem, grid, comm.rank());
  System scaled(problem, block);
  scaled.normalise(factor_of(comm, scaled));
  Halo halo(comm, block);
  comm::Steps steps(comm, {"direction", "update", "halo", "waiting", "reductions", "rest"});
  const std::size_t most =
      settings.most_iterations > 0 ? settings.most_iterations : default_iterations(problem);
  const Progress progress = iterate(comm, scaled, halo, steps, settings.tolerance, most);
  scaled.unscale();
  Outcome outcome{.rows = problem.rows,
                  .columns = problem.columns,
                  .iterations = progress.iterations,
                  .converged = progress.converged,
                  .bytes_per_unknown = bytes_per_unknown(is_uniform(problem))};
  solver::Solution& solution = outcome.solution;
  solution.ranks = comm.size();
  solution.rows = grid.rows;
  solution.columns = grid.columns;
  solution.operations = operations(static_cast<double>(problem.rows * problem.columns),
                                   static_cast<double>(progress.iterations));
  solution.check = verify(comm, problem, scaled, halo, settings.tolerance, progress.iterations);
  solution.check.complete = progress.converged;
  if (settings.prove || needs_proof(problem)) {
    const std::size_t left = settings.most_iterations > 0 ? most - progress.iterations : 10 * most;
    const Proof& proof = outcome.proof =
        prove(comm, problem, scaled, halo, settings.tolerance, left);
    if (std::isfinite(proof.bound)) solution.check = {proof.residual, settings.tolerance};
    outcome.converged = solution.check.complete = proof.bound <= settings.tolerance;
  }
  solution.steps = steps.gather();
  solution.seconds = solution.steps.seconds_of_slowest();
  if (values != nullptr) *values = gather_field(comm, problem, grid, scaled.x);
  if (settings.measure_limit) {
    solution.limit = limit_of(comm, scaled, outcome.bytes_per_unknown);
    solution.limit_is = "the triad's bandwidth on all ranks";
  }
  return outcome;
}

}  // namespace tabane::scg
