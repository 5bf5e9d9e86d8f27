// Conjugate gradients scaled with the diagonal, on a grid of ranks.
#pragma once

#include <cstddef>
#include <limits>
#include <tuple>
#include <vector>

#include "tabane/comm/comm.h"
#include "tabane/comm/grid.h"
#include "tabane/comm/steps.h"
#include "tabane/solver/solution.h"
#include "tabane/tools/scg/problem.h"
#include "tabane/tools/scg/system.h"

namespace tabane::scg {

// ---- a bound on the error ----
//
// Bounds the error of u, and makes u better until the bound holds.
//
// A has no positive element outside its diagonal. So if w > 0 and A w > 0 hold in every unknown,
// A^-1 has no negative element (A is an M-matrix), and the error e of any u, of which A e = r =
// b - A u, is
//
//   |e_i| <= (A^-1 |r|)_i <= (A^-1 A w)_i max_j |r_j| / (A w)_j = w_i max_j |r_j| / (A w)_j.
//
// r and A w are computed with twice the precision of a double, u and w have that precision, too,
// and bounds of what rounding does are added to |r_j| and taken from (A w)_j. So nothing that came
// before has to be trusted: neither the iterations, nor an estimate of the condition, which misses
// the very modes that b hardly contains.
//
// Such a w is a formula where k is constant: a parabola from one side to the other. Otherwise it is
// a rough solution of A w = D.

// What is proved of a solution. bound: of |error of u|, divided by the largest |u|; infinite if
// none was found.
struct Proof {
  bool asked = false;
  double bound = std::numeric_limits<double>::infinity();
  double residual = 0;         // as verify()'s, before u is rounded to doubles
  std::size_t iterations = 0;  // for w, and to make u better
  double seconds = 0;

  auto fields() { return std::tie(asked, bound, residual, iterations, seconds); }
};

// Makes x of the system, which is u, better until the bound and the residual are at most
// `tolerance`, they fall no more, or `most` iterations are used up. The system is of no more use to
// iterate(). No bound is found where k varies by more than 1e180, for which twice the precision is
// too little, or where the iterations do not suffice for w. All ranks call it and get the same.
Proof prove(comm::Comm& comm, const Problem& problem, System& system, Halo& halo, double tolerance,
            std::size_t most);

// ---- the solution ----

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
enum TimedStep { kDirection, kUpdate, kHalo, kWaiting, kReductions, kOther };

inline comm::Steps make_steps(comm::Comm& comm) {
  return {comm, {"direction", "update", "halo", "waiting", "reductions", "other"}};
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
