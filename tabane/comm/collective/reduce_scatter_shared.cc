#include <algorithm>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/in_order.h"
#include "tabane/comm/collective/layout.h"

namespace tabane::comm {
namespace {

// Shows a piece of each of the other ranks' blocks, one behind the other.
void show_pieces(const Call& call, std::size_t ranks, std::size_t self, std::size_t begin,
                 std::size_t bytes, std::span<std::byte> slot) {
  std::size_t at = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (rank == self) continue;
    copy_bytes(slot.subspan(at, bytes), call.in.subspan(rank * call.bytes + begin, bytes));
    at += bytes;
  }
}

}  // namespace

// Each rank shows a piece of each block in its slot; of their own blocks, the ranks combine the
// pieces where they lie.
// cost: (p - 1) n bytes copied and p n read on each rank.
void reduce_scatter_shared(Group& group, const Call& call) {
  Slots& slots = group.board()->slots;
  const Signature signature = signature_of(call);
  const auto p = static_cast<std::size_t>(group.size());
  const auto self = static_cast<std::size_t>(group.rank());
  const std::size_t element = call.combine->element_bytes;
  const std::size_t most = slots.slot_bytes() / (p - 1) / element * element;
  for (std::size_t begin = 0; begin < call.bytes; begin += most) {
    const std::size_t bytes = std::min(most, call.bytes - begin);
    show_pieces(call, p, self, begin, bytes, slots.begin(any_source));
    slots.publish(signature);
    const std::span<std::byte> sum = call.out.subspan(begin, bytes);
    for (std::size_t rank = 0; rank < p; ++rank) {
      const std::size_t place = self - (rank < self ? 1 : 0);  // where it left out its own
      const std::byte* const theirs =
          rank == self ? call.in.data() + self * call.bytes + begin
                       : slots.read(static_cast<int>(rank), signature).data() + place * bytes;
      add_in_order(*call.combine, sum, static_cast<int>(rank), theirs);
    }
    slots.end();
  }
}

}  // namespace tabane::comm
