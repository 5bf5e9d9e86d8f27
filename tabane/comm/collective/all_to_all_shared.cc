#include <algorithm>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/layout.h"

namespace tabane::comm {

// Each rank shows a piece of each of its blocks in its slot; the others copy theirs.
// cost: 2 p n bytes copied on each rank.
void all_to_all_shared(Group& group, const Call& call) {
  Slots& slots = group.board()->slots;
  const Signature signature = signature_of(call);
  const auto p = static_cast<std::size_t>(group.size());
  const auto self = static_cast<std::size_t>(group.rank());
  const std::size_t element = call.element.bytes;
  const std::size_t most = slots.slot_bytes() / p / element * element;
  for (std::size_t begin = 0; begin < call.bytes; begin += most) {
    const std::size_t bytes = std::min(most, call.bytes - begin);
    const std::span<std::byte> slot = slots.begin(any_source);
    for (std::size_t rank = 0; rank < p; ++rank) {
      copy_bytes(slot.subspan(rank * bytes, bytes),
                 call.in.subspan(rank * call.bytes + begin, bytes));
    }
    slots.publish(signature);
    for (std::size_t rank = 0; rank < p; ++rank) {
      copy_bytes(call.out.subspan(rank * call.bytes + begin, bytes),
                 slots.read(static_cast<int>(rank), signature).subspan(self * bytes, bytes));
    }
    slots.end();
  }
}

}  // namespace tabane::comm
