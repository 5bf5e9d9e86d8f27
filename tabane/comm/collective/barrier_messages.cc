#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

// Dissemination: after round k each rank knows of 2^k ranks before it that they are here.
// cost: ceil(log2 p) rounds, an empty message each.
void barrier_messages(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  for (int distance = 1; distance < p; distance *= 2) {
    messages.exchange((self + distance) % p, {}, (self - distance + p) % p, {});
  }
}

}  // namespace tabane::comm
