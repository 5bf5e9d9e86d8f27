#include <algorithm>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/layout.h"

namespace tabane::comm {
namespace {

// Each rank combines its segment of the piece, from all slots, and shows the result in its slot.
void all_reduce_piece(Group& group, const Call& call, const Signature& signature,
                      std::span<std::byte> piece) {
  Slots& slots = group.board()->slots;
  const std::size_t element = call.combine->element_bytes;
  const auto part = [&](int rank) { return segment(piece.size(), element, group.size(), rank); };
  const Segment mine = part(group.rank());

  copy_bytes(slots.begin(any_source), piece);
  slots.publish(signature);
  const std::span<std::byte> sum = piece.subspan(mine.begin, mine.size());
  copy_bytes(sum, slots.read(0, signature).subspan(mine.begin, mine.size()));
  for (int rank = 1; rank < group.size(); ++rank) {
    call.combine->apply(sum.data(), slots.read(rank, signature).data() + mine.begin,
                        mine.size() / element);
  }
  slots.end();

  copy_bytes(slots.begin(any_source), sum);
  slots.publish(signature);
  for (int rank = 0; rank < group.size(); ++rank) {
    if (rank == group.rank()) continue;
    const Segment theirs = part(rank);
    copy_bytes(piece.subspan(theirs.begin, theirs.size()),
               slots.read(rank, signature).first(theirs.size()));
  }
  slots.end();
}

}  // namespace

// Values in slots, as many as fit: each rank combines a segment of them and copies the others'.
// cost: 2 steps a piece; (3 + 1 / p) n bytes read on each rank.
void all_reduce_shared(Group& group, const Call& call) {
  const std::size_t element = call.combine->element_bytes;
  const std::size_t most = group.board()->slots.slot_bytes() / element * element;
  const Signature signature = signature_of(call);
  for (std::size_t begin = 0; begin < call.bytes; begin += most) {
    all_reduce_piece(group, call, signature,
                     call.values.subspan(begin, std::min(most, call.bytes - begin)));
  }
}

}  // namespace tabane::comm
