#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

// All messages at once, each rank beginning with the one behind it.
// cost: p - 1 messages of n bytes to and from each rank.
void all_to_all_linear(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  const auto begin_of = [&](int rank) { return static_cast<std::size_t>(rank) * call.bytes; };
  std::vector<std::unique_ptr<Pending>> pending;
  for (int round = 0; round < p; ++round) {
    const int from = (self - round + p) % p;
    pending.push_back(messages.irecv(from, call.out.subspan(begin_of(from), call.bytes)));
  }
  std::vector<std::unique_ptr<Pending>> sent;
  for (int round = 0; round < p; ++round) {
    const int to = (self + round) % p;
    sent.push_back(messages.isend(to, call.in.subspan(begin_of(to), call.bytes)));
  }
  for (const std::unique_ptr<Pending>& one : pending) messages.finish(*one, call.bytes);
  wait_all(sent);
}

}  // namespace tabane::comm
