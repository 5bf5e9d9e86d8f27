// What the memory gives all ranks together.
#pragma once

#include <span>

#include "tabane/comm/comm.h"

namespace tabane::solver {

// Returns the bandwidth of a := b + s c on all ranks together, in bytes per second: the best of
// some rounds that begin at the same time, past the caches and through them, with 24 bytes an
// element. a, b, c: of one length, as in simd::triad(). All ranks call it; the result is the same
// on all. cost: at least 10 rounds, and up to 200 while they take less than 50 ms in all.
double triad_bandwidth(comm::Comm& comm, std::span<double> a, std::span<const double> b,
                       std::span<const double> c);

}  // namespace tabane::solver
