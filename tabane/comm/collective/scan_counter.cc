#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/prefix.h"

namespace tabane::comm {

// Each rank shows its values in a line; the last one to come releases all, who combine the lines of
// the ranks before them. With more ranks than PUs each runs once to come and once to leave.
// cost: p atomic additions to one line, p - 1 lines read on the last rank.
void scan_counter(Group& group, const Call& call) {
  Lines& lines = group.board()->lines;
  const Word word = lines.begin(call);
  lines.write(word, call.values);
  if (lines.is_last()) {
    lines.write_release(word, {});
    lines.notify_all();
  } else {
    lines.read_release(word);
  }
  Prefix prefix(call, group.rank());
  for (int rank = 0; rank < prefix.end(); ++rank) prefix.add(rank, lines.read(rank, word));
}

}  // namespace tabane::comm
