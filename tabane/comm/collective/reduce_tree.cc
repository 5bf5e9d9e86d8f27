#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

// A binomial tree to rank 0, which sends the result to the root: so the order of combination, and
// with it the bits of the result, do not depend on the root. What a rank combines lies in its
// scratch, since of a reduce only the root's values may change.
// cost: ceil(log2 p) messages of n bytes one after the other, and one more if the root is not 0.
void reduce_tree(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  const bool is_leaf = self % 2 == 1 || self + 1 >= p;
  const bool in_place = self == call.root || is_leaf || call.kind == Kind::all_reduce;
  const std::span<std::byte> scratch = group.scratch(is_leaf ? 0 : call.bytes * (in_place ? 1 : 2));
  const std::span<std::byte> sum = in_place ? call.values : scratch.last(call.bytes);
  if (!in_place) copy_bytes(sum, call.values);
  int distance = 1;
  for (; distance < p && (self & distance) == 0; distance *= 2) {
    if (self + distance >= p) continue;
    const std::span<std::byte> theirs = scratch.first(call.bytes);
    messages.recv(self + distance, theirs);
    call.combine->apply(sum.data(), theirs.data(), call.bytes / call.combine->element_bytes);
  }
  if (self != 0) messages.send(self - distance, sum);
  if (call.root == 0) return;
  if (self == 0) messages.send(call.root, sum);
  if (self == call.root) messages.recv(0, call.values);
}

}  // namespace tabane::comm
