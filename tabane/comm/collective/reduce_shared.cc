#include <algorithm>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/in_order.h"
#include "tabane/comm/collective/layout.h"

namespace tabane::comm {
namespace {

// One piece of the values, on the root.
void combine_piece(Group& group, const Call& call, const Signature& signature,
                   std::span<std::byte> piece) {
  Slots& slots = group.board()->slots;
  const std::span<std::byte> sum = group.scratch(piece.size());
  for (int rank = 0; rank < group.size(); ++rank) {
    const std::byte* const theirs =
        rank == call.root ? piece.data() : slots.read(rank, signature).data();
    add_in_order(*call.combine, sum, rank, theirs);
  }
  copy_bytes(piece, sum);
  slots.end();
}

}  // namespace

// Each rank shows its values in its slot, as many as fit; the root combines them there.
// cost: n bytes copied on each rank; p n bytes read by the root.
void reduce_shared(Group& group, const Call& call) {
  Slots& slots = group.board()->slots;
  const Signature signature = signature_of(call);
  const std::size_t element = call.combine->element_bytes;
  const std::size_t most = slots.slot_bytes() / element * element;
  for (std::size_t begin = 0; begin < call.bytes; begin += most) {
    const auto piece = call.values.subspan(begin, std::min(most, call.bytes - begin));
    const std::span<std::byte> slot = slots.begin(call.root);
    if (group.rank() == call.root) {
      combine_piece(group, call, signature, piece);
    } else {
      copy_bytes(slot, piece);
      slots.publish(signature);
    }
  }
}

}  // namespace tabane::comm
