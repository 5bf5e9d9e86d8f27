#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

// The root sends each rank its part; parts of a cyclic layout it sorts out first.
// cost: p - 1 messages of n bytes, all from the root.
void scatter_direct(Group& group, const Call& call) {
  Messages messages(group, call);
  if (group.rank() != call.root) return messages.recv(call.root, call.out);
  const int p = group.size();
  const bool sorted = call.layout == Layout::block;
  const std::span<std::byte> scratch =
      group.scratch(sorted ? 0 : call.bytes * static_cast<std::size_t>(p));
  std::vector<std::unique_ptr<Pending>> sent;
  for (int rank = 0; rank < p; ++rank) {
    if (rank == call.root) continue;
    const std::size_t begin = static_cast<std::size_t>(rank) * call.bytes;
    if (!sorted) take_piece(call.in, call, p, rank, 0, scratch.subspan(begin, call.bytes));
    const std::span<const std::byte> all = sorted ? call.in : scratch;
    sent.push_back(messages.isend(rank, all.subspan(begin, call.bytes)));
  }
  take_piece(call.in, call, p, call.root, 0, call.out);
  wait_all(sent);
}

}  // namespace tabane::comm
