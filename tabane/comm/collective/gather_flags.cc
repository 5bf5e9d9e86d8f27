#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/layout.h"

namespace tabane::comm {

// Each rank shows its part in a line, which the root reads.
// cost: p - 1 lines read by the root; the others wait only if they are two calls ahead of it.
void gather_flags(Group& group, const Call& call) {
  RootLines& lines = group.board()->root_lines;
  const Word word = lines.begin(call);
  if (group.rank() != call.root) return lines.write(word, call.root, call.in);
  for (int rank = 0; rank < group.size(); ++rank) {
    const std::byte* const part = rank == call.root ? call.in.data() : lines.read(rank, word);
    put_piece(call.out, call, group.size(), rank, 0, {part, call.bytes});
  }
  lines.end(word);
}

}  // namespace tabane::comm
