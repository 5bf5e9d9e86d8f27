// The pivot of a column that lies on several ranks.
#pragma once

#include "tabane/comm/grid.h"
#include "tabane/tools/linpack/leaf.h"
#include "tabane/tools/linpack/panel.h"

namespace tabane::linpack {

// Finds the largest of the ranks' candidates for step `column` of the panel, copies its row to row
// `column` of everyone's `top`, and puts the row that was there into its place. own: this rank's
// candidate, row counted from the first that is not yet done. All ranks of the column call it.
void take_pivot_row(comm::Grid& grid, const Layout& layout, Panel& panel, int column,
                    const Pivot& own);

}  // namespace tabane::linpack
