// Back substitution in the triangle that the elimination leaves.
#pragma once

#include <vector>

#include "tabane/comm/grid.h"
#include "tabane/tools/linpack/local_matrix.h"
#include "tabane/tools/linpack/times.h"

namespace tabane::linpack {

// Solves U x = y, where column n of the matrix is y; returns x, whole, on every rank. All call it.
// No element of U's diagonal is 0.
std::vector<double> substitute(comm::Grid& grid, const Layout& layout, LocalMatrix& matrix,
                               comm::Steps& steps);

}  // namespace tabane::linpack
