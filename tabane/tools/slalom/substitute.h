// The solutions of the three systems from their factors.
#pragma once

#include <vector>

#include "tabane/tools/slalom/factorise.h"

namespace tabane::slalom {

// Returns on rank 0 the radiosities of all patches in red, then those in green and blue; nothing
// elsewhere. All ranks call it. cost: the factors are read twice, 4 operations a number.
std::vector<double> substitute(const Geometry& geometry, const Region& region, Couplings& couplings,
                               Factors& factors, comm::Grid& grid, comm::Steps& steps);

}  // namespace tabane::slalom
