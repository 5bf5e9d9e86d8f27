// What some algorithms end with.
#pragma once

#include "tabane/comm/collective/call.h"
#include "tabane/comm/collective/group.h"
#include "tabane/comm/collective/layout.h"

namespace tabane::comm {

// Rank r has segment r of call.values, of size() segments; gives all to all, round the ring.
// cost: p - 1 messages of n / p bytes one after the other.
void pass_segments_round(Group& group, const Call& call);

}  // namespace tabane::comm
