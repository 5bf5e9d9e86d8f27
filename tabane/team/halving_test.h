// Chooses a shape by plain successive halving: the peer that the chooser is raced against in
// choose_race_test.cc.
#pragma once

#include <cstddef>

#include "tabane/team/law_experiment_test.h"
#include "tabane/team/places.h"

namespace tabane::team {

enum class Candidates {
  all,     // what the chooser weighs
  ladder,  // powers of two and where cores, nodes and the machine are full
};

// Samples the candidates in turn, drops the slower half, and samples the rest longer, until one is
// left or `seconds` are spent; each rung gets the same share of them. Candidates of which the first
// rung can run no task are drawn out at random.
Shape choose_by_halving(Machine& machine, std::size_t n, LawExperiment& experiment, double seconds,
                        Candidates candidates);

}  // namespace tabane::team
