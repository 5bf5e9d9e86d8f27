// Conjugate gradients scaled with the diagonal, on a grid of ranks.
#pragma once

#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

#include "tabane/comm/comm.h"
#include "tabane/comm/grid.h"
#include "tabane/solver/solution.h"
#include "tabane/tools/scg/problem.h"
#include "tabane/tools/scg/proof.h"

namespace tabane::scg {

struct Settings {
  double tolerance = 2e-12;         // of ||r|| / ||b||, both scaled: where it stops
  std::size_t most_iterations = 0;  // 0: default_iterations(); after them it has failed
  bool prove = false;               // bound the error of u; where needs_proof(), it always is
  comm::GridShape grid = {};        // zeros: chosen
  bool measure_limit = false;       // the triad of all ranks, after the solution
};

// Far more than a constant k needs. A proof may take ten times as many.
std::size_t default_iterations(const Problem& problem);

struct Outcome {
  solver::Solution solution;  // the limit is what the triad's bandwidth allows
  std::size_t rows = 0, columns = 0, iterations = 0;
  bool converged = false;        // has come to the tolerance, by itself or by the proof
  double bytes_per_unknown = 0;  // and iteration, of the passes
  Proof proof;

  auto fields() {
    return std::tie(solution, rows, columns, iterations, converged, bytes_per_unknown, proof);
  }
};

// Solves the problem from u = 0. All ranks call it with the same problem; rank 0's outcome is
// complete. The check holds the residual against the tolerance and what rounding adds to it, and
// passes only what has converged. With a proof, u is made better until the bound on its error and
// the residual are at most the tolerance, and passes only then. values: if not null, u, row by row,
// on rank 0; or null on all ranks. The problem has passed check(). throws: core::UsageError if the
// grid does not fit the mesh.
Outcome solve(comm::Comm& comm, const Problem& problem, const Settings& settings,
              std::vector<double>* values = nullptr);

}  // namespace tabane::scg
