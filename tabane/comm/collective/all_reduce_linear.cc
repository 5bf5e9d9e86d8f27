#include "tabane/comm/collective/algorithms.h"

namespace tabane::comm {

// The root, rank 0, receives from all and sends to all.
// cost: 2 (p - 1) messages of n bytes.
void all_reduce_linear(Group& group, const Call& call) {
  reduce_linear(group, call);
  broadcast_linear(group, call);
}

}  // namespace tabane::comm
