// What all solvers have in common: what they report of a run, the limits of the machine that they
// compare themselves with, and the memory that they demand.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <tuple>

#include "tabane/comm/comm.h"
#include "tabane/comm/steps.h"
#include "tabane/core/error.h"
#include "tabane/core/units.h"

namespace tabane::solver {

struct Check {
  double residual = 0, tolerance = 0;
  bool complete = true;  // whether the solver converged, and proved what it had to
  bool passed() const { return complete && residual <= tolerance; }  // not for NaN
};

struct Solution {
  int ranks = 1, rows = 1, columns = 1;  // of the grid
  double seconds = 0;                    // of what is timed, wall time of the slowest rank
  double operations = 0;                 // as the benchmark counts them
  double limit = 0;                      // operations per second that the machine allows; 0: not
                                         // measured
  std::string limit_is;                  // "DGEMM on all ranks"
  Check check;
  comm::StepTable steps;

  double rate() const { return operations / seconds; }
  auto fields() {
    return std::tie(ranks, rows, columns, seconds, operations, limit, limit_is, check, steps);
  }
};

// Returns the rate of matrix products of all ranks together, in operations per second: the best of
// `rounds` products of n x n matrices that all begin at the same time, on each rank for itself.
// All ranks call it; the result is the same on all. Where time is simulated, it is what the
// machine's law says. cost: rounds 2 n^3 operations and 3 n^2 numbers on each rank.
double measure_product_rate(comm::Comm& comm, int n = 768, int rounds = 8);

// Returns the bandwidth of a := b + s c on all ranks together, in bytes per second: the best of
// some rounds that begin at the same time, past the caches and through them, with 24 bytes an
// element. a, b, c: of one length, as in simd::triad(). All ranks call it; the result is the same
// on all. cost: at least 10 rounds, and up to 200 while they take less than 50 ms in all.
double triad_bandwidth(comm::Comm& comm, std::span<double> a, std::span<const double> b,
                       std::span<const double> c);

// throws: Error if `needed` bytes are more than `usable` ones. sentence: makes its text of both, as
// "1.5 GiB".
template <class Error = core::UsageError, class Sentence>
void require_memory(double needed, double usable, const Sentence& sentence) {
  if (needed <= usable) return;
  const auto text = [](double bytes) {
    return core::format_bytes(static_cast<std::uint64_t>(bytes));
  };
  throw Error(sentence(text(needed), text(usable)));
}

}  // namespace tabane::solver
