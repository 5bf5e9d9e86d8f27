#include <algorithm>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/layout.h"

namespace tabane::comm {

// Through the ring of chunks.
// cost: n bytes written once and read p - 1 times at the same time; up to 32 bytes take one cache
// line.
void broadcast_flags(Group& group, const Call& call) {
  ChunkRing& ring = group.board()->ring;
  const Signature signature = signature_of(call);
  std::span<std::byte> left = call.values;
  while (!left.empty()) {
    const auto piece = left.first(std::min(left.size(), ring.chunk_bytes()));
    left = left.subspan(piece.size());
    if (group.rank() == call.root) {
      copy_bytes(ring.begin(), piece);
      ring.publish(signature);
    } else {
      copy_bytes(piece, ring.read(signature, call.root).first(piece.size()));
      ring.consume(call.root, left.empty());
    }
  }
}

}  // namespace tabane::comm
