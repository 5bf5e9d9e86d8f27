// Whether two series of samples may be of one and the same thing, whatever their distribution.
#pragma once

#include <span>

namespace tabane::core {

// Returns the probability that two series of these sizes differ so much or more if they are samples
// of the same thing: the two-sided chance of the rank-sum test, with mean ranks for equal
// samples. Exact for up to 40 samples together whatever their distribution, so of 6 and 6 never
// below 0.2 %; beyond, by the normal distribution. source: Wilcoxon; Mann and Whitney; Conover,
// section 5.1. a, b: not empty, in any order. cost: O(n^4) for up to 40 samples n, O(n log n)
// beyond.
double rank_sum_chance(std::span<const double> a, std::span<const double> b);

}  // namespace tabane::core
