// Checks a solution against the equations themselves.
#pragma once

#include "tabane/solver/solution.h"
#include "tabane/tools/scg/halo.h"
#include "tabane/tools/scg/system.h"

namespace tabane::scg {

// The residual ||D^-1/2 (b - A u)|| / ||D^-1/2 b||, with what flows through the faces of each
// unknown and over the sides added up, from k, f and u alone: neither the scaled matrix nor the
// recurrence of r takes part. 0 if b and u are 0.
//
// It says how well the equations hold, not how large the error of u is: that takes a proof.
//
// What it may be: the tolerance at which r was to stop, and what rounding puts between r and b - A
// x. Each iteration puts errors of a few u ||x|| there, u = 2^-53 (Greenbaum 1997). They have no
// common direction, so they grow as the square root of the iterations: measured 0.5 of it, allowed
// kRounding. This never exceeds kMostRounding: a system so ill-conditioned that it would is not
// solved, whatever r says.
inline constexpr double kRounding = 2, kMostRounding = 1e-6;

// x of the system is u. All ranks call it and get the same.
solver::Check verify(comm::Comm& comm, const Problem& problem, const System& system, Halo& halo,
                     double tolerance, std::size_t iterations);

}  // namespace tabane::scg
