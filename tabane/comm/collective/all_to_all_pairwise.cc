#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

// In round k each rank sends to the k-th after it and receives from the k-th before it.
// cost: p - 1 exchanges of n bytes one after the other.
void all_to_all_pairwise(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  const auto in = [&](int rank) {
    return call.in.subspan(static_cast<std::size_t>(rank) * call.bytes, call.bytes);
  };
  const auto out = [&](int rank) {
    return call.out.subspan(static_cast<std::size_t>(rank) * call.bytes, call.bytes);
  };
  copy_bytes(out(self), in(self));
  for (int round = 1; round < p; ++round) {
    const int to = (self + round) % p, from = (self - round + p) % p;
    messages.exchange(to, in(to), from, out(from));
  }
}

}  // namespace tabane::comm
