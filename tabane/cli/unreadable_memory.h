// Keeps keys out of core dumps and away from other processes of the same user.
#pragma once

namespace tabane::cli {

// Turns core dumps off and refuses debuggers, for the rest of the process; before a key is read.
// throws: core::SystemError.
void make_memory_unreadable();

}  // namespace tabane::cli
