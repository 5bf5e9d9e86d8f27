#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"
#include "tabane/comm/collective/varying.h"

namespace tabane::comm {

// The root sends each rank its part, all at once.
// cost: p - 1 messages, all from the root.
void scatter_varying_direct(Group& group, const Call& call) {
  Messages messages(group, call);
  if (group.rank() != call.root) return messages.recv(call.root, call.out);
  const VaryingParts parts(call);
  std::vector<std::unique_ptr<Pending>> sent;
  for (int rank = 0; rank < group.size(); ++rank) {
    if (rank != call.root) sent.push_back(messages.isend(rank, parts.part(call.in, rank)));
  }
  copy_bytes(call.out, parts.part(call.in, call.root));
  wait_all(sent);
}

}  // namespace tabane::comm
