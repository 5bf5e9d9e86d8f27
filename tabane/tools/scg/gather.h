// The blocks of all ranks put together.
#pragma once

#include <vector>

#include "tabane/comm/comm.h"
#include "tabane/tools/scg/block.h"
#include "tabane/tools/scg/field.h"

namespace tabane::scg {

// Returns the field over the whole mesh, row by row, on rank 0; elsewhere nothing. All ranks call
// it.
std::vector<double> gather_field(comm::Comm& comm, const Problem& problem, comm::GridShape grid,
                                 const Field& field);

}  // namespace tabane::scg
