#include <array>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/layout.h"

namespace tabane::comm {

// Leaders combine the lines of their ranks, and all combine the lines of the leaders.
// cost: 2 sqrt(p) lines read by a leader, sqrt(p) by the others.
void all_reduce_two_level(Group& group, const Call& call) {
  Lines& lines = group.board()->lines;
  const Word word = lines.begin(call);
  lines.write(word, call.values);
  const std::size_t elements = call.bytes / call.combine->element_bytes;
  alignas(kLineBytes) std::array<std::byte, kLineValueBytes> buffer;
  const std::span<std::byte> sum = std::span(buffer).first(call.bytes);
  if (lines.is_leader()) {
    copy_bytes(sum, call.values);
    for (int rank = lines.rank() + 1; rank < lines.end_of_my_ranks(); ++rank) {
      call.combine->apply(sum.data(), lines.read(rank, word), elements);
    }
    lines.write_as_leader(word, sum);
    lines.notify_all();
  } else {
    lines.notify(lines.my_leader());
  }
  copy_bytes(sum, {lines.read_leader(0, word), call.bytes});
  for (int leader = 1; leader < lines.leaders(); ++leader) {
    call.combine->apply(sum.data(), lines.read_leader(leader, word), elements);
  }
  copy_bytes(call.values, sum);
}

}  // namespace tabane::comm
