#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/in_order.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

// In round k each rank sends the k-th after it its block, and gets its own from the k-th before it;
// then it combines what it has got in the order of ranks.
// cost: p - 1 exchanges of n bytes one after the other; p n bytes of scratch.
void reduce_scatter_pairwise(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  const auto block = [&](int rank) {
    return call.in.subspan(static_cast<std::size_t>(rank) * call.bytes, call.bytes);
  };
  const std::span<std::byte> scratch = group.scratch(static_cast<std::size_t>(p) * call.bytes);
  const auto from_rank = [&](int rank) {
    return scratch.subspan(static_cast<std::size_t>(rank) * call.bytes, call.bytes);
  };
  for (int round = 1; round < p; ++round) {
    const int to = (self + round) % p, from = (self - round + p) % p;
    messages.exchange(to, block(to), from, from_rank(from));
  }
  for (int rank = 0; rank < p; ++rank) {
    add_in_order(*call.combine, call.out, rank,
                 rank == self ? block(self).data() : from_rank(rank).data());
  }
}

}  // namespace tabane::comm
