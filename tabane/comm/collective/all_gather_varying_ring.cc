#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"
#include "tabane/comm/collective/varying.h"

namespace tabane::comm {

// Parts go round the ring of ranks.
// cost: p - 1 messages one after the other, each round as long as its longest part.
void all_gather_varying_ring(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  const VaryingParts parts(call);
  const auto part = [&](int index) { return parts.part(call.out, (index + p) % p); };
  copy_bytes(part(self), call.in);
  for (int round = 0; round < p - 1; ++round) {
    messages.exchange((self + 1) % p, part(self - round), (self - 1 + p) % p,
                      part(self - round - 1));
  }
}

}  // namespace tabane::comm
