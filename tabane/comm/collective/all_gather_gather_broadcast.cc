#include "tabane/comm/collective/algorithms.h"

namespace tabane::comm {

// Rank 0 gathers all parts and broadcasts them.
// cost: as gather_direct and broadcast_binomial of p n bytes.
void all_gather_gather_broadcast(Group& group, const Call& call) {
  gather_direct(group, call);
  Call broadcast = call;
  broadcast.values = call.out;
  broadcast.bytes = call.out.size();
  broadcast_binomial(group, broadcast);
}

}  // namespace tabane::comm
