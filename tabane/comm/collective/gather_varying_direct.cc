#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"
#include "tabane/comm/collective/varying.h"

namespace tabane::comm {

// All send to the root, which receives from all at once, each part to its place.
// cost: p - 1 messages, all to the root.
void gather_varying_direct(Group& group, const Call& call) {
  Messages messages(group, call);
  if (group.rank() != call.root) return messages.send(call.root, call.in);
  const VaryingParts parts(call);
  std::vector<std::unique_ptr<Pending>> pending;
  for (int rank = 0; rank < group.size(); ++rank) {
    pending.push_back(rank == call.root ? nullptr
                                        : messages.irecv(rank, parts.part(call.out, rank)));
  }
  copy_bytes(parts.part(call.out, call.root), call.in);
  for (int rank = 0; rank < group.size(); ++rank) {
    Pending* const one = pending[static_cast<std::size_t>(rank)].get();
    if (one != nullptr) messages.finish(*one, parts.bytes(rank));
  }
}

}  // namespace tabane::comm
