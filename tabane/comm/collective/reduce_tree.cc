#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

// A binomial tree to rank 0, which sends the result to the root: so the order of combination, and
// with it the bits of the result, do not depend on the root.
// cost: ceil(log2 p) messages of n bytes one after the other, and one more if the root is not 0.
void reduce_tree(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  const std::span<std::byte> theirs = group.scratch(call.bytes);
  int distance = 1;
  for (; distance < p && (self & distance) == 0; distance *= 2) {
    if (self + distance >= p) continue;
    messages.recv(self + distance, theirs);
    call.combine->apply(call.values.data(), theirs.data(),
                        call.bytes / call.combine->element_bytes);
  }
  if (self != 0) messages.send(self - distance, call.values);
  if (call.root == 0) return;
  if (self == 0) messages.send(call.root, call.values);
  if (self == call.root) messages.recv(0, call.values);
}

}  // namespace tabane::comm
