// Whether c is the product of a and b, each element rounded once.
#pragma once

#include <span>

#include "tabane/solver/solution.h"
#include "tabane/tools/matmul/finish.h"

namespace tabane::matmul {

// Returns how many rows of c, and how many of some elements drawn at random, are wrong; the
// tolerance is 0. sketch: the rows' sums of w_j (x_ij - c_ij) (Sketch), which the product has
// collected while it rounded the exact values x_ij.
//
// Why this suffices. Let p be the random prime of 60 bits, and w the random weights below it. For
// each row, all modulo p, it is checked that
//   sum_j w_j c_ij + sketch_i  =  sum_k a_ik (sum_j b_kj w_j),
// with c as it is now, after it was collected from all threads and ranks, and a and b as they were
// given. Binary fractions are numbers modulo p, so nothing is rounded here. The left side is
// sum_j w_j y_ij, where y_ij are the values that were rounded to the c_ij of now. If some y_ij is
// not the exact x_ij, then
// - y_ij - x_ij, scaled to an integer of at most N bits, is a multiple of p for at most N / 59 of
//   the primes that may be drawn. Each is drawn with a probability of the gap before it over 2^59,
//   and no gap is above 2000 there: together less than N / 2^53;
// - otherwise sum_j w_j (y_ij - x_ij) is a linear function of w_j that is not 0 modulo p, and takes
//   the value 0 for at most two of the 2^64 values from which w_j is reduced, in p of them: a
//   probability of less than 2^-58.
// So a wrong value, or an element that was changed after it was rounded, passes with a probability
// below (N + 1) / 2^53. What remains is the rounding of the right value itself, which is MPFR's:
// elements drawn at random are computed again by MPFR's exact sum of products, and compared bit by
// bit. Rows of a and columns of b with infinities or NaN are computed by that sum from the start,
// and take no part in the sketch.
//
// cost: about 50 ns a number of a, b and c, and k products of MPFR for each element drawn.
solver::Check verify(const Operands& operands, const Target& target, const PrimeField& field,
                     std::span<const std::uint64_t> sketch);

}  // namespace tabane::matmul
