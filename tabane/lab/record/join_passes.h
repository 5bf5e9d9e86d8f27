// The views of several passes of a survey as one view.
#pragma once

#include <span>

#include "tabane/lab/record/view.h"

namespace tabane::lab {

// Joins views of one name: each point of a curve, cell of a matrix and value of a table becomes the
// median of the passes that have it; a curve's point also gets the interval of that median over
// passes. Everything else is that of the last pass. views: not empty, all with the same kind of
// content; series, rows and columns may come and go.
View join_passes(std::span<const View> views);

}  // namespace tabane::lab
