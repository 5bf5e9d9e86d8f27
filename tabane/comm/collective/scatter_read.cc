#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"
#include "tabane/comm/collective/window.h"

namespace tabane::comm {
namespace {

void read_own_part(Group& group, const Call& call) {
  WindowTalk talk(group, call);
  const Place place = talk.receive_place();
  const Written read =
      group.transport().memory()->read(call.root, place.window, place.offset, call.out);
  if (!talk.tell(place, read)) Messages(group, call).recv(call.root, call.out);
}

}  // namespace

// The root tells the others where their parts lie, and each reads its own there: all at the same
// time, each part copied once. Parts of a cyclic layout the root sorts out first. Where the system
// refuses that, it is sent. Nobody reads if the parts are not of the same size on both sides, or
// the root is not in this scatter any more.
// cost: 2 (p - 1) messages of a few bytes; n bytes copied by each rank.
void scatter_read(Group& group, const Call& call) {
  if (group.rank() != call.root) return read_own_part(group, call);
  const int p = group.size();
  std::span<const std::byte> all = call.in;
  if (call.layout != Layout::block) {
    const std::span<std::byte> parts = group.scratch(call.bytes * static_cast<std::size_t>(p));
    for (int rank = 0; rank < p; ++rank) {
      const std::size_t begin = static_cast<std::size_t>(rank) * call.bytes;
      take_piece(call.in, call, p, rank, 0, parts.subspan(begin, call.bytes));
    }
    all = parts;
  }
  const auto part = [&](int rank) {
    return all.subspan(static_cast<std::size_t>(rank) * call.bytes, call.bytes);
  };
  OpenWindow window(*group.transport().memory(), all);
  WindowTalk talk(group, call);
  talk.send_places(window);
  copy_bytes(call.out, part(call.root));
  for (int rank = 0; rank < p; ++rank) {
    if (rank == call.root || talk.is_done(rank, window)) continue;
    Messages(group, call).send(rank, part(rank));
  }
  window.end();
}

}  // namespace tabane::comm
