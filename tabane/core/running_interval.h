// Intervals of a median that may be looked at after every sample, as often as wanted, also to
// decide when to stop: with the stated confidence all of them hold. An interval made for one number
// of samples claims too much when it is looked at repeatedly.
//
// Each sample is above the true median or not, like a fair coin. The coin's likelihood under a
// head's probability that is uniform over 0…1, over that of a fair one, is a martingale: that it
// ever reaches 1 / alpha has a probability of at most alpha (Ville). A value is in the interval as
// long as the samples above and below it keep that below 1 / alpha.
// source: Robbins, Statistical methods related to the law of the iterated logarithm, Annals of
// Mathematical Statistics 41, 1970; Howard and Ramdas, Sequential estimation of quantiles with
// applications to A/B testing and best-arm identification, Bernoulli 28, 2022.
#pragma once

#include <cstddef>
#include <span>

#include "tabane/core/statistics.h"

namespace tabane::core {

// The interval of n samples reaches from the rank-th smallest to the rank-th largest; 0: they are
// too few for one. confidence: 0…1, exclusive.
std::size_t running_rank(std::size_t n, double confidence = 0.95);

// With too few samples (fewer than 8 for 95 %) both ends are infinite. samples: not empty.
// cost: O(n log n).
Interval running_median_interval(std::span<const double> samples, double confidence = 0.95);

// As interleaved_ratio(), with a running interval; with too few pairs it reaches from 0 to
// infinity. If the order in each round is drawn anew, it holds for two equal competitors whatever
// the machine does meanwhile: which of the two was slower in a round is then the draw's coin.
Ratio running_ratio(std::span<const double> a, std::span<const double> b, double confidence = 0.95);

}  // namespace tabane::core
