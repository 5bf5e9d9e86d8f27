// What a solution costs, as functions of its size: operations, bytes, messages.
#pragma once

#include <cstddef>

namespace tabane::scg {

// Per unknown and iteration. Rates count the 24 of the AP1000 report, as others do; 18 is the
// least: 8 for A p, where all stencils are the same, 4 for two scalar products, 6 for three
// vectors.
inline constexpr double kOperations = 24, kLeastOperations = 18;

constexpr double operations(double unknowns, double iterations) {
  return kOperations * unknowns * iterations;
}

// Bytes per unknown and iteration between the processor and what holds the vectors, if rows that
// were just used stay nearer:
//
//   pass        reads               writes   one stencil    with couplings
//   direction   r, p                p             24             + 16
//   update      p, r                r             24             + 16
//               x, in every second  x              8
//                                                 56               88
//
// Every line that is written was read before: stores past the caches would save nothing.
constexpr double bytes_per_unknown(bool uniform) { return uniform ? 56 : 88; }

// p, r and x, two couplings of each unknown where they differ; for a proof the couplings anyhow,
// the lower half of x, and w in two halves; on rank 0 the result, and the parts of the ranks that
// it is made of.
constexpr double memory_bytes_per_unknown(bool uniform, bool proof, bool with_values) {
  return (uniform && !proof ? 24 : 40) + (proof ? 24 : 0) + (with_values ? 24 : 0);
}

// Reductions over all ranks.
constexpr std::size_t reductions(std::size_t iterations) { return 2 * iterations + 1; }

}  // namespace tabane::scg
