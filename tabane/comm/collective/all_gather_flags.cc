#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/layout.h"

namespace tabane::comm {

// Each rank shows its part in a line and reads those of all.
// cost: a line written and p - 1 read on each rank, all at the same time.
void all_gather_flags(Group& group, const Call& call) {
  Lines& lines = group.board()->lines;
  const Word word = lines.begin(call);
  lines.write(word, call.in);
  lines.notify_all();
  for (int rank = 0; rank < lines.ranks(); ++rank) {
    put_piece(call.out, call, lines.ranks(), rank, 0, {lines.read(rank, word), call.bytes});
  }
}

}  // namespace tabane::comm
