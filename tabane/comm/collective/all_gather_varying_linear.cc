#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"
#include "tabane/comm/collective/varying.h"

namespace tabane::comm {

// All send to all at once.
// cost: p - 1 messages to and from each rank.
void all_gather_varying_linear(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  const VaryingParts parts(call);
  std::vector<std::unique_ptr<Pending>> received, sent;
  for (int round = 1; round < p; ++round) {
    const int from = (self - round + p) % p;
    received.push_back(messages.irecv(from, parts.part(call.out, from)));
  }
  for (int round = 1; round < p; ++round) {
    sent.push_back(messages.isend((self + round) % p, call.in));
  }
  copy_bytes(parts.part(call.out, self), call.in);
  for (int round = 1; round < p; ++round) {
    messages.finish(*received[static_cast<std::size_t>(round - 1)],
                    parts.bytes((self - round + p) % p));
  }
  wait_all(sent);
}

}  // namespace tabane::comm
