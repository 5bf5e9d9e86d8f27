#include <array>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/layout.h"

namespace tabane::comm {

// Each rank shows its values in a line, and combines those of all.
// cost: a line written and p - 1 read on each rank, all at the same time.
void all_reduce_flags(Group& group, const Call& call) {
  Lines& lines = group.board()->lines;
  const Word word = lines.begin(call);
  lines.write(word, call.values);
  lines.notify_all();
  const std::size_t elements = call.bytes / call.combine->element_bytes;
  alignas(kLineBytes) std::array<std::byte, kLineValueBytes> sum;
  copy_bytes(sum, {lines.read(0, word), call.bytes});
  for (int rank = 1; rank < lines.ranks(); ++rank) {
    call.combine->apply(sum.data(), lines.read(rank, word), elements);
  }
  copy_bytes(call.values, std::span(sum).first(call.bytes));
}

}  // namespace tabane::comm
