#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

// The root sends to each rank.
// cost: p - 1 messages of n bytes, all from the root.
void broadcast_linear(Group& group, const Call& call) {
  Messages messages(group, call);
  if (group.rank() != call.root) return messages.recv(call.root, call.values);
  std::vector<std::unique_ptr<Pending>> sent;
  for (int rank = 0; rank < group.size(); ++rank) {
    if (rank != call.root) sent.push_back(messages.isend(rank, call.values));
  }
  wait_all(sent);
}

}  // namespace tabane::comm
