#include <algorithm>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

// Each rank collects the parts of those that it serves and sends them on. Ranks count from the
// root.
// cost: ceil(log2 p) messages one after the other, of p n bytes in all.
void gather_binomial(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size();
  const int position = (group.rank() - call.root + p) % p;
  const auto rank_at = [&](int at) { return (at + call.root) % p; };
  int span = 1;  // of ranks that this one serves, itself among them
  while (span < p && (position & span) == 0) span *= 2;
  const auto served = static_cast<std::size_t>(std::min(span, p - position));
  if (served == 1) return messages.send(rank_at(position - span), call.in);
  const std::span<std::byte> parts = group.scratch(served * call.bytes);
  copy_bytes(parts, call.in);
  for (int distance = 1; distance < span && position + distance < p; distance *= 2) {
    const auto begin = static_cast<std::size_t>(distance);
    const std::size_t end = std::min(2 * begin, served);
    messages.recv(rank_at(position + distance),
                  parts.subspan(begin * call.bytes, (end - begin) * call.bytes));
  }
  if (position != 0) return messages.send(rank_at(position - span), parts);
  for (int at = 0; at < p; ++at) {
    put_piece(call.out, call, p, rank_at(at), 0,
              parts.subspan(static_cast<std::size_t>(at) * call.bytes, call.bytes));
  }
}

}  // namespace tabane::comm
