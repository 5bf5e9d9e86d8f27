// Whether radiosities solve the systems.
#pragma once

#include <vector>

#include "tabane/workloads/slalom/setup.h"
#include "tabane/workloads/solution.h"

namespace tabane::workloads::slalom {

// r = sum over colours and rows of |y - M x|, over (max |m| max |x|) of the last colour, as the
// benchmark defines it.
//
// Why that suffices: in row i of M = C - S / rho the diagonal is larger than all else together, by
// g_i = S_i (1 - rho_i) / rho_i. So for the true solution x* of a colour
//   max |x - x*| <= max |y - M x| / min g <= r max |m| / min g max |x|:
// what passes is right to r max (S / rho) / min g, which is 10^4 r in the benchmark's box. The
// couplings are computed anew, block by block, so an element that was put in a wrong place or
// overwritten shows, too; that they are right is what their row sums say.
//
// radiosities: of all patches, colour by colour, the same on all ranks; sums: rows of C. All ranks
// call it; the result is the same on all. cost: that of the set-up.
Check verify(const Geometry& geometry, const Region& region, const Distribution& distribution,
             const std::vector<double>& sums, const std::vector<double>& radiosities,
             comm::Comm& all);

}  // namespace tabane::workloads::slalom
