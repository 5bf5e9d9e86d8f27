// Waiting for a flag in the memory of a group.
#pragma once

#include "tabane/comm/transport/transport.h"

namespace tabane::comm {

// Returns once ready() is true, which rank `peer` (any_source: any) brings about; at once and
// without more than the look if it is true already.
template <class Ready>
void wait_for_flag(GroupMemory& memory, int peer, const Ready& ready) {
  if (!ready()) memory.wait(peer, [&ready] { return ready(); });
}

}  // namespace tabane::comm
