#include "tabane/comm/collective/schedule.h"

namespace tabane::comm {

// A binomial tree, as broadcast_binomial: a rank gets the values from the one that has its number,
// counted from the root, without the lowest bit that is set, and hands them to all whose parent it
// is, the largest subtree first.
// cost: ceil(log2 p) messages of n bytes one after the other.
void add_broadcast(Rounds& rounds, const Group& group, const Call& call) {
  const int p = group.size(), number = (group.rank() - call.root + p) % p;
  const auto rank_of = [&](int of) { return (of + call.root) % p; };
  int bit = 1;
  while (bit < p && (number & bit) == 0) bit *= 2;
  if (number != 0) {
    rounds.receive(rank_of(number - bit), call.values);
    rounds.end_round();
  }
  for (int below = bit / 2; below > 0; below /= 2) {
    if (number + below < p) rounds.send(rank_of(number + below), call.values);
  }
  rounds.end_round();
}

}  // namespace tabane::comm
