#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/prefix.h"

namespace tabane::comm {

// Each rank shows its values in a line, and combines those of the ranks before it. It waits for the
// others, too: see Lines.
// cost: a line written and p - 1 read on each rank, all at the same time.
void scan_flags(Group& group, const Call& call) {
  Lines& lines = group.board()->lines;
  const Word word = lines.begin(call);
  lines.write(word, call.values);
  lines.notify_all();
  Prefix prefix(call, group.rank());
  for (int rank = 0; rank < lines.ranks(); ++rank) prefix.add(rank, lines.read(rank, word));
}

}  // namespace tabane::comm
