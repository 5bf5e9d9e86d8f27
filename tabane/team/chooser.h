// The steps of choose_shape() on a machine whose placements are remembered between calls.
#pragma once

#include <cstddef>

#include "tabane/team/choose.h"
#include "tabane/team/machine_load.h"

namespace tabane::team {

// As choose_shape().
Choice choose_on(Machine& machine, std::size_t n, Experiment& experiment, const Limits& limits);

}  // namespace tabane::team
