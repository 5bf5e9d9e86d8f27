#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/in_order.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {
namespace {

void combine_all(Group& group, const Call& call, Messages& messages) {
  const std::span<std::byte> scratch = group.scratch(2 * call.bytes);
  const auto sum = scratch.first(call.bytes), theirs = scratch.last(call.bytes);
  for (int rank = 0; rank < group.size(); ++rank) {
    if (rank == call.root) {
      copy_bytes(theirs, call.values);
    } else {
      messages.recv(rank, theirs);
    }
    add_in_order(*call.combine, sum, rank, theirs.data());
  }
  copy_bytes(call.values, sum);
}

}  // namespace

// All send to the root.
// cost: p - 1 messages of n bytes, received one after the other.
void reduce_linear(Group& group, const Call& call) {
  Messages messages(group, call);
  if (group.rank() == call.root) {
    combine_all(group, call, messages);
  } else {
    messages.send(call.root, call.values);
  }
}

}  // namespace tabane::comm
