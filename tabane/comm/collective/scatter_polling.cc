#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

// The root serves one rank after the other, each when it has asked. To compare with.
// cost: 2 (p - 1) messages one after the other, half of them empty.
void scatter_polling(Group& group, const Call& call) {
  Messages messages(group, call);
  if (group.rank() != call.root) {
    messages.send(call.root, {});
    return messages.recv(call.root, call.out);
  }
  const std::span<std::byte> part = group.scratch(call.bytes);
  for (int rank = 0; rank < group.size(); ++rank) {
    if (rank == call.root) continue;
    messages.recv(rank, {});
    take_piece(call.in, call, group.size(), rank, 0, part);
    messages.send(rank, part);
  }
  take_piece(call.in, call, group.size(), call.root, 0, call.out);
}

}  // namespace tabane::comm
