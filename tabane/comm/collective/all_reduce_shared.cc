#include <algorithm>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/in_order.h"
#include "tabane/comm/collective/layout.h"

namespace tabane::comm {
namespace {

// Combines this rank's share of a piece out of all slots, in the order of ranks.
void combine_share(Slots& slots, const Call& call, const Signature& signature, int ranks,
                   std::span<std::byte> share, std::size_t begin) {
  for (int rank = 0; rank < ranks; ++rank) {
    add_in_order(*call.combine, share, rank, slots.read(rank, signature).data() + begin);
  }
}

}  // namespace

// Each rank shows its values in its slot, as many as fit, combines its share of them, and shows
// that; all copy the shares.
// cost: n (1 + 1 / p) bytes written and 2 n read on each rank; two steps of all ranks a slot.
void all_reduce_shared(Group& group, const Call& call) {
  Slots& slots = group.board()->slots;
  const Signature signature = signature_of(call);
  const int p = group.size();
  const std::size_t element = call.combine->element_bytes;
  const std::size_t most = slots.slot_bytes() / element * element;
  for (std::size_t begin = 0; begin < call.bytes; begin += most) {
    const auto piece = call.values.subspan(begin, std::min(most, call.bytes - begin));
    const auto share_of = [&](int rank) {
      const Segment s = segment(piece.size(), element, p, rank);
      return piece.subspan(s.begin, s.size());
    };
    copy_bytes(slots.begin(any_source), piece);
    slots.publish(signature);
    const std::span<std::byte> own = share_of(group.rank());
    const auto at = static_cast<std::size_t>(own.data() - piece.data());
    combine_share(slots, call, signature, p, own, at);
    slots.end();
    copy_bytes(slots.begin(any_source), own);
    slots.publish(signature);
    for (int rank = 0; rank < p; ++rank) {
      const std::span<std::byte> share = share_of(rank);
      copy_bytes(share, slots.read(rank, signature).first(share.size()));
    }
    slots.end();
  }
}

}  // namespace tabane::comm
