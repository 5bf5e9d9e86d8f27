#include <algorithm>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/prefix.h"

namespace tabane::comm {

// Each rank shows its values in its slot, as many as fit, and combines those of the ranks before
// it.
// cost: n bytes copied on each rank; r n bytes read by rank r.
void scan_shared(Group& group, const Call& call) {
  Slots& slots = group.board()->slots;
  const Signature signature = signature_of(call);
  const std::size_t element = call.combine->element_bytes;
  const std::size_t most = slots.slot_bytes() / element * element;
  for (std::size_t begin = 0; begin < call.bytes; begin += most) {
    const auto piece = call.values.subspan(begin, std::min(most, call.bytes - begin));
    copy_bytes(slots.begin(any_source), piece);
    slots.publish(signature);
    Prefix prefix(call, group.rank(), piece);
    for (int rank = 0; rank < prefix.end(); ++rank) {
      prefix.add(rank, slots.read(rank, signature).data());
    }
    slots.end();
  }
}

}  // namespace tabane::comm
