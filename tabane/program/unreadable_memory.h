// Keeps keys out of core dumps and away from other processes of the same user.
#pragma once

namespace tabane::program {

// Turns core dumps off and refuses debuggers, for the rest of the process; before a key is read.
// throws: core::SystemError.
void make_memory_unreadable();

// Only turns core dumps off: for ranks of MPI, whose libraries copy from each other's memory as a
// debugger does. throws: core::SystemError.
void forbid_core_dumps();

}  // namespace tabane::program
