#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/in_order.h"

namespace tabane::comm {

// Each rank shows its values in a line, and combines those of all.
// cost: a line written and p - 1 read on each rank, all at the same time.
void all_reduce_flags(Group& group, const Call& call) {
  Lines& lines = group.board()->lines;
  const Word word = lines.begin(call);
  lines.write(word, call.values);
  lines.notify_all();
  for (int rank = 0; rank < lines.ranks(); ++rank) {
    add_in_order(*call.combine, call.values, rank, lines.read(rank, word));
  }
}

}  // namespace tabane::comm
