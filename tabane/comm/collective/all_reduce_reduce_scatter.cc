#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"
#include "tabane/comm/collective/ring_exchange.h"

namespace tabane::comm {

// Each rank gets its segment from all others, combines it, and then the segments go round the ring.
// cost: 2 (p - 1) messages of n / p bytes, n / p combined on each rank; n bytes of scratch.
void all_reduce_reduce_scatter(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  const auto values_of = [&](int rank) {
    const Segment s = segment(call.bytes, call.element.bytes, p, rank);
    return call.values.subspan(s.begin, s.size());
  };
  const std::span<std::byte> mine = values_of(self);
  const std::span<std::byte> scratch = group.scratch(mine.size() * static_cast<std::size_t>(p));
  const auto from_rank = [&](int rank) {
    return scratch.subspan(static_cast<std::size_t>(rank) * mine.size(), mine.size());
  };
  copy_bytes(from_rank(self), mine);
  for (int round = 1; round < p; ++round) {
    const int to = (self + round) % p, from = (self - round + p) % p;
    messages.exchange(to, values_of(to), from, from_rank(from));
  }
  for (int rank = 1; rank < p; ++rank) {
    call.combine->apply(scratch.data(), from_rank(rank).data(),
                        mine.size() / call.combine->element_bytes);
  }
  copy_bytes(mine, scratch.first(mine.size()));
  pass_segments_round(group, call);
}

}  // namespace tabane::comm
