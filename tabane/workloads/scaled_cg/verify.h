// Checks a solution against the equations themselves.
#pragma once

#include "tabane/workloads/scaled_cg/halo.h"
#include "tabane/workloads/scaled_cg/system.h"
#include "tabane/workloads/solution.h"

namespace tabane::workloads::scaled_cg {

// The residual is ||D^-1/2 (b - A u)|| / ||D^-1/2 b||, with what flows through the faces of each
// unknown and over the sides added up, from k, f and u alone: neither the scaled matrix nor the
// recurrence of r takes part. 0 if b and u are 0.
//
// What it may be: the tolerance at which r was to stop, and what rounding puts between r and b - A
// x. That is the sum of the errors of all steps. In one step x gets an error of at most u (||x|| +
// 2 ||alpha p||) and r one of c u ||A|| ||alpha p||; alpha p is the difference of two iterates;
// with x = 0 at first the iterates' norms grow (Steihaug 1983), so each norm is at most 2 ||x||.
// With ||A|| <= 2, at most 8 roundings an element and those of the deferred x, all are within 64 u
// ||x|| a step, u = 2^-53 (Greenbaum 1997 has the same form). The bound never exceeds
// kMostRounding: a system so ill-conditioned that it would is not solved, whatever r says.
inline constexpr double kMostRounding = 1e-6;

// x of the system is u. All ranks call it and get the same.
Check verify(comm::Comm& comm, const Problem& problem, const System& system, Halo& halo,
             double tolerance, std::size_t iterations);

}  // namespace tabane::workloads::scaled_cg
