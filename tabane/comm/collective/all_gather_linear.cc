#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

// All send to all at once. With more ranks than PUs no rank waits for its turn in a ring.
// cost: p - 1 messages of n bytes to and from each rank.
void all_gather_linear(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  const bool sorted = call.layout == Layout::block;
  const std::span<std::byte> all =
      sorted ? call.out : group.scratch(call.bytes * static_cast<std::size_t>(p));
  const auto part = [&](int rank) {
    return all.subspan(static_cast<std::size_t>(rank) * call.bytes, call.bytes);
  };
  std::vector<std::unique_ptr<Pending>> received, sent;
  for (int round = 1; round < p; ++round) {
    const int from = (self - round + p) % p;
    received.push_back(messages.irecv(from, part(from)));
  }
  for (int round = 1; round < p; ++round) {
    sent.push_back(messages.isend((self + round) % p, call.in));
  }
  copy_bytes(part(self), call.in);
  for (const std::unique_ptr<Pending>& one : received) messages.finish(*one, call.bytes);
  wait_all(sent);
  if (sorted) return;
  for (int rank = 0; rank < p; ++rank) put_piece(call.out, call, p, rank, 0, part(rank));
}

}  // namespace tabane::comm
