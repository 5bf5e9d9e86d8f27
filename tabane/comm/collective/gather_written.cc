#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"
#include "tabane/comm/collective/window.h"

namespace tabane::comm {
namespace {

void write_part(Group& group, const Call& call) {
  const Place place = WindowTalk(group, call).receive_place();
  const Written written =
      group.transport().memory()->write(call.root, place.window, place.offset, call.in);
  if (!WindowTalk(group, call).tell(place, written)) Messages(group, call).send(call.root, call.in);
}

}  // namespace

// The root tells the others where their parts belong, and each writes its own there: all at the
// same time, each part copied once. Where the system refuses that, it is sent. Nobody writes if the
// parts are not of the same size on both sides, or the root is not in this gather any more.
// cost: 2 (p - 1) messages of a few bytes; n bytes copied by each rank.
void gather_written(Group& group, const Call& call) {
  if (group.rank() != call.root) return write_part(group, call);
  const int p = group.size();
  const bool sorted = call.layout == Layout::block;
  const std::span<std::byte> all =
      sorted ? call.out : group.scratch(call.bytes * static_cast<std::size_t>(p));
  OpenWindow window(*group.transport().memory(), all);
  WindowTalk talk(group, call);
  talk.send_places(window);
  put_piece(call.out, call, p, call.root, 0, call.in);
  for (int rank = 0; rank < p; ++rank) {
    if (rank == call.root) continue;
    const auto part = all.subspan(static_cast<std::size_t>(rank) * call.bytes, call.bytes);
    if (!talk.is_done(rank, window)) Messages(group, call).recv(rank, part);
    if (!sorted) put_piece(call.out, call, p, rank, 0, part);
  }
  window.end();
}

}  // namespace tabane::comm
