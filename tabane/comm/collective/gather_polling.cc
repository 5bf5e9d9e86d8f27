#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

// The root asks one rank after the other. To compare with.
// cost: 2 (p - 1) messages one after the other, half of them empty.
void gather_polling(Group& group, const Call& call) {
  Messages messages(group, call);
  if (group.rank() != call.root) {
    messages.recv(call.root, {});
    return messages.send(call.root, call.in);
  }
  const std::span<std::byte> part = group.scratch(call.bytes);
  for (int rank = 0; rank < group.size(); ++rank) {
    if (rank == call.root) {
      put_piece(call.out, call, group.size(), rank, 0, call.in);
      continue;
    }
    messages.send(rank, {});
    messages.recv(rank, part);
    put_piece(call.out, call, group.size(), rank, 0, part);
  }
}

}  // namespace tabane::comm
