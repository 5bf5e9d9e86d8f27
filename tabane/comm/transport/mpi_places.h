// Where the modules for MPI may lie.
#pragma once

#include "tabane/core/loadable_module.h"

namespace tabane::comm {

const core::ModulePlaces& mpi_module_places();

}  // namespace tabane::comm
