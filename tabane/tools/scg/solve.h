// Conjugate gradients scaled with the diagonal, on a grid of ranks.
#pragma once

#include <cstddef>
#include <tuple>
#include <vector>

#include "tabane/comm/comm.h"
#include "tabane/comm/grid.h"
#include "tabane/comm/steps.h"
#include "tabane/solver/solution.h"
#include "tabane/tools/scg/problem.h"
#include "tabane/tools/scg/prove.h"
#include "tabane/tools/scg/system.h"

namespace tabane::scg {

struct SolveOptions {
  double tolerance = 2e-12;         // of ||r|| / ||b||, both scaled: where it stops
  std::size_t most_iterations = 0;  // after them it has failed; 0: far more than a constant k
                                    // needs, and ten times as many for a proof
  bool prove = false;               // bound the error of u; where needs_proof(), it always is
  comm::GridShape grid = {};        // zeros: chosen
  bool measure_limit = false;       // the triad of all ranks, after the solution
};

struct SolvedMesh {
  solver::Solution solution;  // the limit is what the triad's bandwidth allows
  std::size_t rows = 0, columns = 0, iterations = 0;
  bool converged = false;        // has come to the tolerance, by itself or by the proof
  double bytes_per_unknown = 0;  // and iteration, of the passes
  Proof proof;

  auto fields() {
    return std::tie(solution, rows, columns, iterations, converged, bytes_per_unknown, proof);
  }
};

// Solves the problem from u = 0. All ranks call it with the same problem; rank 0's answer is
// complete. The check holds the residual against the tolerance and what rounding adds to it, and
// passes only what has converged. With a proof, u is made better until the bound on its error and
// the residual are at most the tolerance, and passes only then. values: if not null, u, row by row,
// on rank 0; or null on all ranks. The problem has passed check(). throws: core::UsageError if the
// grid does not fit the mesh.
SolvedMesh solve(comm::Comm& comm, const Problem& problem, const SolveOptions& options,
                 std::vector<double>* values = nullptr);

// The steps of a solution that are timed.
enum TimedStep { kDirection, kUpdate, kHalo, kWaiting, kReductions, kRest };

inline comm::Steps make_steps(comm::Comm& comm) {
  return {comm, {"direction", "update", "halo", "waiting", "reductions", "rest"}};
}

struct Progress {
  std::size_t iterations = 0;
  bool converged = false;
  double residual = 0;  // ||r|| / ||b||, both scaled
};

// The loop of the conjugate gradients: sets x of the system, scaled as it is. All ranks call it; it
// begins on all at the same time.
Progress iterate(comm::Comm& comm, System& system, Halo& halo, comm::Steps& steps, double tolerance,
                 std::size_t most_iterations);

// Returns the field over the whole mesh, row by row, on rank 0; elsewhere nothing. All ranks call
// it.
std::vector<double> gather_field(comm::Comm& comm, const Problem& problem, comm::GridShape grid,
                                 const Field& field);

inline constexpr double kRounding = 2, kMostRounding = 1e-6;

// Checks a solution against the equations themselves: the residual ||D^-1/2 (b - A u)|| / ||D^-1/2
// b||, with what flows through the faces of each unknown and over the sides added up, from k, f and
// u alone: neither the scaled matrix nor the recurrence of r takes part. 0 if b and u are 0.
//
// It says how well the equations hold, not how large the error of u is: that takes a proof.
//
// What it may be: the tolerance at which r was to stop, and what rounding puts between r and b - A
// x. Each iteration puts errors of a few u ||x|| there, u = 2^-53 (Greenbaum 1997). They have no
// common direction, so they grow as the square root of the iterations: measured 0.5 of it, allowed
// kRounding. This never exceeds kMostRounding: a system so ill-conditioned that it would is not
// solved, whatever r says.
//
// x of the system is u. All ranks call it and get the same.
solver::Check verify(comm::Comm& comm, const Problem& problem, const System& system, Halo& halo,
                     double tolerance, std::size_t iterations);

}  // namespace tabane::scg
