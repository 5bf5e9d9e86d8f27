#include "tabane/comm/collective/schedule.h"

namespace tabane::comm {

// Dissemination, as barrier_messages.
// cost: ceil(log2 p) rounds of one empty message.
Rounds rounds_of_barrier(const Group& group) {
  const int p = group.size(), self = group.rank();
  Rounds rounds;
  for (int distance = 1; distance < p; distance *= 2) {
    Round& round = rounds.all.emplace_back();
    round.sends.push_back({(self + distance) % p, {}});
    round.receives.push_back({(self + p - distance) % p, {}});
  }
  return rounds;
}

}  // namespace tabane::comm
