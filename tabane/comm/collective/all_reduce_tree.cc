#include "tabane/comm/collective/algorithms.h"

namespace tabane::comm {

// A tree to rank 0 and back.
// cost: 2 ceil(log2 p) messages of n bytes one after the other.
void all_reduce_tree(Group& group, const Call& call) {
  reduce_tree(group, call);
  broadcast_binomial(group, call);
}

}  // namespace tabane::comm
