#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

// Who has the values sends them on: after round k, 2^k ranks have them. Ranks count from the root.
// cost: ceil(log2 p) messages of n bytes one after the other.
void broadcast_binomial(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size();
  const int position = (group.rank() - call.root + p) % p;
  const auto rank_at = [&](int at) { return (at + call.root) % p; };
  int span = 1;  // of ranks that this one serves: its lowest bit
  while (span < p && (position & span) == 0) span *= 2;
  if (position != 0) messages.recv(rank_at(position - span), call.values);
  for (int distance = span / 2; distance > 0; distance /= 2) {
    if (position + distance < p) messages.send(rank_at(position + distance), call.values);
  }
}

}  // namespace tabane::comm
