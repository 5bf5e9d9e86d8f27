// Gaussian elimination by blocks of columns, with partial pivoting.
#pragma once

#include <array>

#include "tabane/comm/grid.h"
#include "tabane/workloads/linpack/local_matrix.h"
#include "tabane/workloads/linpack/panel.h"
#include "tabane/workloads/linpack/times.h"

namespace tabane::workloads::linpack {

// Room for the panel in use and for the next one.
using Panels = std::array<Panel, 2>;

struct EliminationOptions {
  // Whether the next panel is factorised and sent while this one's update still goes on. Without
  // it, panels go by plain broadcasts.
  bool look_ahead = true;
};

// Makes A, in place, the upper triangle U of P A = L U, and b the vector L^-1 P b. Below the
// diagonal blocks, what is left in the matrix has no meaning. Returns the first column that has no
// pivot, as all its elements are zero, or -1; the same on all ranks, which all call it.
int eliminate_all(comm::Grid& grid, const Layout& layout, LocalMatrix& matrix, Panels& panels,
                  comm::Steps& steps, const EliminationOptions& options = {});

}  // namespace tabane::workloads::linpack
