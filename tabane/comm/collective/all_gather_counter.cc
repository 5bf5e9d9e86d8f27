#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/layout.h"

namespace tabane::comm {

// Each rank shows its part in a line; the last one to come releases all, who read all lines. With
// more ranks than PUs each runs once to come and once to leave.
// cost: p atomic additions to one line, p - 1 lines read on each rank.
void all_gather_counter(Group& group, const Call& call) {
  Lines& lines = group.board()->lines;
  const Word word = lines.begin(call);
  lines.write(word, call.in);
  if (lines.is_last()) {
    lines.write_release(word, {});
    lines.notify_all();
  } else {
    lines.read_release(word);
  }
  for (int rank = 0; rank < lines.ranks(); ++rank) {
    put_piece(call.out, call, lines.ranks(), rank, 0, {lines.read(rank, word), call.bytes});
  }
}

}  // namespace tabane::comm
