#include <array>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/in_order.h"
#include "tabane/comm/collective/layout.h"

namespace tabane::comm {

// Each rank shows its values in a line, which the root reads.
// cost: p - 1 lines read by the root; the others wait only if they are two calls ahead of it.
void reduce_flags(Group& group, const Call& call) {
  RootLines& lines = group.board()->root_lines;
  const Word word = lines.begin(call);
  if (group.rank() != call.root) return lines.write(word, call.root, call.values);
  alignas(kLineBytes) std::array<std::byte, kLineValueBytes> line;
  const std::span<std::byte> sum = std::span(line).first(call.bytes);
  for (int rank = 0; rank < group.size(); ++rank) {
    add_in_order(*call.combine, sum, rank,
                 rank == call.root ? call.values.data() : lines.read(rank, word));
  }
  copy_bytes(call.values, sum);
  lines.end(word);
}

}  // namespace tabane::comm
