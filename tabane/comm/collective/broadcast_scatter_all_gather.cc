#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/messages.h"
#include "tabane/comm/collective/ring_exchange.h"

namespace tabane::comm {

// The root hands out segments, which then go round the ring.
// cost: 2 (p - 1) messages of n / p bytes; the root sends 2 n bytes, however many ranks there are.
void broadcast_scatter_all_gather(Group& group, const Call& call) {
  Messages messages(group, call);
  const auto part = [&](int rank) {
    const Segment s = segment(call.bytes, call.element.bytes, group.size(), rank);
    return call.values.subspan(s.begin, s.size());
  };
  if (group.rank() == call.root) {
    std::vector<std::unique_ptr<Pending>> sent;
    for (int rank = 0; rank < group.size(); ++rank) {
      if (rank != call.root) sent.push_back(messages.isend(rank, part(rank)));
    }
    wait_all(sent);
  } else {
    messages.recv(call.root, part(group.rank()));
  }
  pass_segments_round(group, call);
}

}  // namespace tabane::comm
