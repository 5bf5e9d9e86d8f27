// Back substitution in the triangle that the elimination leaves.
#pragma once

#include <vector>

#include "tabane/comm/grid.h"
#include "tabane/workloads/linpack/local_matrix.h"
#include "tabane/workloads/linpack/times.h"

namespace tabane::workloads::linpack {

// Solves U x = y, where column n of the matrix is y; returns x, whole, on every rank. All call it.
// No element of U's diagonal is 0.
std::vector<double> substitute(comm::Grid& grid, const Layout& layout, LocalMatrix& matrix,
                               comm::Steps& steps);

// The smallest absolute value on U's diagonal over the largest; the same on all ranks, which all
// call it. 0 for a singular matrix, 1 for n = 0.
double pivot_ratio(comm::Grid& grid, const Layout& layout, LocalMatrix& matrix);

}  // namespace tabane::workloads::linpack
