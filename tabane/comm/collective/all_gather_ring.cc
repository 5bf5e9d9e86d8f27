#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/ring_exchange.h"

namespace tabane::comm {

// Parts go round the ring of ranks.
// cost: p - 1 messages of n bytes one after the other.
void all_gather_ring(Group& group, const Call& call) {
  const int p = group.size();
  const std::size_t total = call.bytes * static_cast<std::size_t>(p);
  Call round = call;
  round.bytes = total;
  round.values = call.layout == Layout::block ? call.out : group.scratch(total);
  const auto part = [&](int rank) {
    return round.values.subspan(static_cast<std::size_t>(rank) * call.bytes, call.bytes);
  };
  copy_bytes(part(group.rank()), call.in);
  pass_segments_round(group, round);
  if (call.layout == Layout::block) return;
  for (int rank = 0; rank < p; ++rank) put_piece(call.out, call, p, rank, 0, part(rank));
}

}  // namespace tabane::comm
