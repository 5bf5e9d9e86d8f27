#include <algorithm>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/binomial.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

// Each rank collects the parts of those that it serves and sends them on. Ranks count from the
// root.
// cost: ceil(log2 p) messages one after the other, of p n bytes in all.
void gather_binomial(Group& group, const Call& call) {
  Messages messages(group, call);
  const BinomialPlace place(group.size(), group.rank(), call.root);
  const int p = place.ranks;
  const auto served = static_cast<std::size_t>(place.served());
  if (served == 1) return messages.send(place.parent(), call.in);
  const std::span<std::byte> parts = group.scratch(served * call.bytes);
  copy_bytes(parts, call.in);
  for (int distance = 1; distance < place.span && place.position + distance < p; distance *= 2) {
    const auto begin = static_cast<std::size_t>(distance);
    const std::size_t end = std::min(2 * begin, served);
    messages.recv(place.rank_at(place.position + distance),
                  parts.subspan(begin * call.bytes, (end - begin) * call.bytes));
  }
  if (place.position != 0) return messages.send(place.parent(), parts);
  for (int at = 0; at < p; ++at) {
    put_piece(call.out, call, p, place.rank_at(at), 0,
              parts.subspan(static_cast<std::size_t>(at) * call.bytes, call.bytes));
  }
}

}  // namespace tabane::comm
