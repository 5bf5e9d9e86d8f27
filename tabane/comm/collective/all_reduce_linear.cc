#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

// The root, rank 0, receives from all and sends to all.
// cost: 2 (p - 1) messages of n bytes.
void all_reduce_linear(Group& group, const Call& call) {
  reduce_linear(group, call);
  Messages messages(group, call);
  if (group.rank() != 0) return messages.recv(0, call.values);
  std::vector<std::unique_ptr<Pending>> sent;
  for (int rank = 1; rank < group.size(); ++rank) {
    sent.push_back(messages.isend(rank, call.values));
  }
  wait_all(sent);
}

}  // namespace tabane::comm
