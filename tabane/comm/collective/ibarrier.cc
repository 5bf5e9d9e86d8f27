#include "tabane/comm/collective/schedule.h"

namespace tabane::comm {

// Dissemination, as barrier_messages.
// cost: ceil(log2 p) rounds of one empty message.
void add_barrier(Rounds& rounds, const Group& group) {
  const int p = group.size(), self = group.rank();
  for (int distance = 1; distance < p; distance *= 2) {
    rounds.send((self + distance) % p, {});
    rounds.receive((self + p - distance) % p, {});
    rounds.end_round();
  }
}

}  // namespace tabane::comm
