#include <algorithm>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/layout.h"

namespace tabane::comm {

// Each rank shows its part in its slot, as much as fits; the root puts the pieces where they
// belong.
// cost: n bytes copied by each rank, p n by the root.
void gather_shared(Group& group, const Call& call) {
  Slots& slots = group.board()->slots;
  const Signature signature = signature_of(call);
  const int p = group.size();
  const std::size_t element = call.element.bytes;
  const std::size_t most = slots.slot_bytes() / element * element;
  for (std::size_t begin = 0; begin < call.bytes; begin += most) {
    const std::size_t bytes = std::min(most, call.bytes - begin);
    const std::span<std::byte> slot = slots.begin(call.root);
    if (group.rank() != call.root) {
      copy_bytes(slot, call.in.subspan(begin, bytes));
      slots.publish(signature);
      continue;
    }
    for (int rank = 0; rank < p; ++rank) {
      const std::span<const std::byte> piece = rank == call.root
                                                   ? call.in.subspan(begin, bytes)
                                                   : slots.read(rank, signature).first(bytes);
      put_piece(call.out, call, p, rank, begin, piece);
    }
    slots.end();
  }
}

}  // namespace tabane::comm
