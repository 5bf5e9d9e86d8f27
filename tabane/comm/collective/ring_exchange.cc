#include "tabane/comm/collective/ring_exchange.h"

#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

void pass_segments_round(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  const auto part = [&](int index) {
    const Segment s = segment(call.bytes, call.element.bytes, p, (index + p) % p);
    return call.values.subspan(s.begin, s.size());
  };
  for (int round = 0; round < p - 1; ++round) {
    messages.exchange((self + 1) % p, part(self - round), (self - 1 + p) % p,
                      part(self - round - 1));
  }
}

}  // namespace tabane::comm
