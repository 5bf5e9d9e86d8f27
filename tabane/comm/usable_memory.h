// What ranks may take of the memory of their machines.
#pragma once

#include "tabane/comm/comm.h"

namespace tabane::comm {

// Bytes that this machine can still give, all its ranks together; infinite if it does not tell.
double usable_memory();

// Bytes that all ranks together may take if each takes as much as every other: the ranks of a
// machine share its memory, and the machine that has least for a rank limits all. Infinite if none
// tells. All ranks call it; the result is the same on all.
double usable_memory_of_all(comm::Comm& comm);

}  // namespace tabane::comm
