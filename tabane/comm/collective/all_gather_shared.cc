#include <algorithm>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/layout.h"

namespace tabane::comm {

// Each rank shows its part in its slot, as much as fits, and copies those of all.
// cost: (p + 1) n bytes copied on each rank.
void all_gather_shared(Group& group, const Call& call) {
  Slots& slots = group.board()->slots;
  const Signature signature = signature_of(call);
  const std::size_t element = call.element.bytes;
  const std::size_t most = slots.slot_bytes() / element * element;
  for (std::size_t begin = 0; begin < call.bytes; begin += most) {
    const std::size_t bytes = std::min(most, call.bytes - begin);
    copy_bytes(slots.begin(any_source), call.in.subspan(begin, bytes));
    slots.publish(signature);
    for (int rank = 0; rank < group.size(); ++rank) {
      put_piece(call.out, call, group.size(), rank, begin,
                slots.read(rank, signature).first(bytes));
    }
    slots.end();
  }
}

}  // namespace tabane::comm
