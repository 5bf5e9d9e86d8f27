#include <array>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/layout.h"

namespace tabane::comm {

// Each rank shows its values in a line, which the root reads.
// cost: p - 1 lines read by the root; the others wait only if they are two calls ahead of it.
void reduce_flags(Group& group, const Call& call) {
  RootLines& lines = group.board()->root_lines;
  const Word word = lines.begin(call);
  if (group.rank() != call.root) return lines.write(word, call.root, call.values);
  const std::size_t elements = call.bytes / call.combine->element_bytes;
  alignas(kLineBytes) std::array<std::byte, kLineValueBytes> sum;
  for (int rank = 0; rank < group.size(); ++rank) {
    const std::byte* const theirs = rank == call.root ? call.values.data() : lines.read(rank, word);
    if (rank == 0) {
      copy_bytes(sum, {theirs, call.bytes});
    } else {
      call.combine->apply(sum.data(), theirs, elements);
    }
  }
  copy_bytes(call.values, std::span(sum).first(call.bytes));
  lines.end(word);
}

}  // namespace tabane::comm
