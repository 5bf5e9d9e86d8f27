#include <algorithm>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/varying.h"

namespace tabane::comm {
namespace {

// What a slot of `room` bytes shows of a part, from `begin` on; empty beyond its end.
template <class Byte>
std::span<Byte> piece_of(std::span<Byte> part, std::size_t begin, std::size_t room) {
  begin = std::min(begin, part.size());
  return part.subspan(begin, std::min(room, part.size() - begin));
}

}  // namespace

// Each rank shows its part in its slot, as much as fits, and copies those of all; until the longest
// part is through.
// cost: on each rank its own part and all parts copied; as many steps as the longest part needs.
void all_gather_varying_shared(Group& group, const Call& call) {
  Slots& slots = group.board()->slots;
  const Signature signature = signature_of(call);
  const VaryingParts parts(call);
  const std::size_t room = slots.slot_bytes(), most = parts.most_bytes();
  for (std::size_t begin = 0; begin < most; begin += room) {
    copy_bytes(slots.begin(any_source), piece_of(call.in, begin, room));
    slots.publish(signature);
    for (int rank = 0; rank < group.size(); ++rank) {
      const std::span<std::byte> to = piece_of(parts.part(call.out, rank), begin, room);
      if (!to.empty()) copy_bytes(to, slots.read(rank, signature).first(to.size()));
    }
    slots.end();
  }
}

}  // namespace tabane::comm
