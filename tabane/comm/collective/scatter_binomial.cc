#include <algorithm>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/binomial.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

// Each rank gets the parts of all that it serves, and hands on those of others. Ranks count from
// the root.
// cost: ceil(log2 p) messages one after the other, of p n bytes in all.
void scatter_binomial(Group& group, const Call& call) {
  Messages messages(group, call);
  const BinomialPlace place(group.size(), group.rank(), call.root);
  const int p = place.ranks;
  const auto served = static_cast<std::size_t>(place.served());
  if (served == 1) return messages.recv(place.parent(), call.out);
  const std::span<std::byte> parts = group.scratch(served * call.bytes);
  if (place.position == 0) {
    for (int at = 0; at < p; ++at) {
      take_piece(call.in, call, p, place.rank_at(at), 0,
                 parts.subspan(static_cast<std::size_t>(at) * call.bytes, call.bytes));
    }
  } else {
    messages.recv(place.parent(), parts);
  }
  for (int distance = place.span / 2; distance > 0; distance /= 2) {
    if (place.position + distance >= p) continue;
    const auto begin = static_cast<std::size_t>(distance);
    const std::size_t end = std::min(2 * begin, served);
    messages.send(place.rank_at(place.position + distance),
                  parts.subspan(begin * call.bytes, (end - begin) * call.bytes));
  }
  copy_bytes(call.out, parts.first(call.bytes));
}

}  // namespace tabane::comm
