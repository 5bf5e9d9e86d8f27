// Competitors measured in turn: in every round each gives one sample, in an order drawn anew, so
// that a slow moment of the machine hits all of them. The one such loop; everything that is
// compared goes through it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "tabane/core/clock.h"

namespace tabane::core {

struct RoundsOptions {
  int fewest = 1;                              // even when the budget is spent
  int most = std::numeric_limits<int>::max();  // >= fewest
  double budget_seconds = std::numeric_limits<double>::infinity();
  // After that no further round begins, not even one of the fewest.
  double most_seconds = std::numeric_limits<double>::infinity();
  std::uint32_t seed = 1;
};

enum class RoundsEnd { enough, budget, most };

struct NeverEnough {
  bool operator()(int) const { return false; }
};

// take(i) measures competitor i once and returns its sample; keep(samples) gets those of a whole
// round, by competitor; enough(rounds) ends the run, asked after each round from the fewest on.
// Time is counted from `start` by `clock`. throws: as take(); the round begun is then not kept.
template <class Take, class Keep, class Enough = NeverEnough>
RoundsEnd in_rounds(std::size_t competitors, const RoundsOptions& options, Clock& clock,
                    double start, Take take, Keep keep, Enough enough = {}) {
  std::vector<std::size_t> order(competitors);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(options.seed);
  std::vector<decltype(take(std::size_t{0}))> samples(competitors);
  for (int round = 0; round < options.most; ++round) {
    const double spent = clock.now() - start;
    if (spent > options.most_seconds) return RoundsEnd::budget;
    if (round >= options.fewest && spent >= options.budget_seconds) return RoundsEnd::budget;
    if (round >= options.fewest && enough(round)) return RoundsEnd::enough;
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) samples[i] = take(i);
    keep(samples);
  }
  return RoundsEnd::most;
}

}  // namespace tabane::core
