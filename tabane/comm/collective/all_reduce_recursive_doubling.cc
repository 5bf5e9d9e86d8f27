#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {
namespace {

// values = lower ∘ upper, where `theirs` is of the lower or the upper ranks.
void combine(const Call& call, std::span<std::byte> theirs, bool theirs_are_lower) {
  const std::size_t elements = call.bytes / call.combine->element_bytes;
  if (!theirs_are_lower) {
    call.combine->apply(call.values.data(), theirs.data(), elements);
    return;
  }
  call.combine->apply(theirs.data(), call.values.data(), elements);
  copy_bytes(call.values, theirs);
}

}  // namespace

// In round k each rank and the one 2^k away exchange what they have and combine it in the same
// order, so that both have the same bits. Where p is no power of two, the first ranks form pairs
// that are one rank in the rounds.
// cost: floor(log2 p) exchanges of n bytes, and two messages more if p is no power of two.
void all_reduce_recursive_doubling(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  int players = 1;
  while (2 * players <= p) players *= 2;
  const int pairs = p - players;
  const std::span<std::byte> theirs = group.scratch(call.bytes);
  if (self < 2 * pairs && self % 2 == 1) {
    messages.send(self - 1, call.values);
    return messages.recv(self - 1, call.values);
  }
  if (self < 2 * pairs) {
    messages.recv(self + 1, theirs);
    combine(call, theirs, false);
  }
  const int player = self < 2 * pairs ? self / 2 : self - pairs;
  for (int distance = 1; distance < players; distance *= 2) {
    const int other = player ^ distance;
    const int other_rank = other < pairs ? 2 * other : other + pairs;
    messages.exchange(other_rank, call.values, other_rank, theirs);
    combine(call, theirs, other < player);
  }
  if (self < 2 * pairs) messages.send(self + 1, call.values);
}

}  // namespace tabane::comm
