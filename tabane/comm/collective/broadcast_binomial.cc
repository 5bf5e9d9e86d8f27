#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/binomial.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

// Who has the values sends them on: after round k, 2^k ranks have them. Ranks count from the root.
// cost: ceil(log2 p) messages of n bytes one after the other.
void broadcast_binomial(Group& group, const Call& call) {
  Messages messages(group, call);
  const BinomialPlace place(group.size(), group.rank(), call.root);
  if (place.position != 0) messages.recv(place.parent(), call.values);
  for (int distance = place.span / 2; distance > 0; distance /= 2) {
    if (place.position + distance < place.ranks)
      messages.send(place.rank_at(place.position + distance), call.values);
  }
}

}  // namespace tabane::comm
