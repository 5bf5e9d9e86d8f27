// Gaussian elimination by blocks of columns, with partial pivoting.
#pragma once

#include <array>
#include <vector>

#include "tabane/comm/grid.h"
#include "tabane/tools/linpack/panel.h"
#include "tabane/tools/linpack/system.h"

namespace tabane::linpack {

// Room for the panel in use and for the next one.
using Panels = std::array<Panel, 2>;

struct EliminationOptions {
  // Whether the next panel is factorised and sent during this one's update. Otherwise panels are
  // sent by blocking broadcasts.
  bool look_ahead = true;
};

struct Eliminated {
  int defect = -1;  // the first column that has no pivot, as all its elements are zero, or -1
  std::vector<int> pivots;  // the row that was exchanged with row i in step i
};

// Makes A, in place, the factors of A = P1 L1 P2 L2 ... U, a P and an L for each panel, and b the
// vector L^-1 P b: U from the diagonal on and the columns of L, without the ones on their
// diagonals, below it. Returns the same on all ranks, which all call it.
Eliminated eliminate_all(comm::Grid& grid, const Layout& layout, LocalMatrix& matrix,
                         Panels& panels, comm::Steps& steps,
                         const EliminationOptions& options = {});

}  // namespace tabane::linpack
