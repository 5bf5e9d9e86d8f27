#include <algorithm>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {
namespace {

constexpr std::size_t kPieceBytes = 64 * 1024;

}  // namespace

// A chain of ranks from the root on: each sends a piece to the next one while it receives the
// following one.
// cost: (p - 2 + n / 64 KiB) messages of 64 KiB one after the other; n bytes sent by each rank.
void broadcast_pipeline(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  const bool first = self == call.root, last = (self + 1) % p == call.root;
  std::unique_ptr<Pending> sent;
  for (std::size_t begin = 0; begin < call.bytes; begin += kPieceBytes) {
    const auto piece = call.values.subspan(begin, std::min(kPieceBytes, call.bytes - begin));
    if (!first) messages.recv((self - 1 + p) % p, piece);
    if (sent) sent->wait();
    if (!last) sent = messages.isend((self + 1) % p, piece);
  }
  if (sent) sent->wait();
}

}  // namespace tabane::comm
