#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"

namespace tabane::comm {

// Each rank shows that it is here and looks at all others.
// cost: a line written and p - 1 read on each rank, all at the same time.
void barrier_flags(Group& group, const Call& call) {
  Lines& lines = group.board()->lines;
  const Word word = lines.begin(call);
  lines.write(word, {});
  lines.notify_all();
  for (int rank = 0; rank < lines.ranks(); ++rank) lines.read(rank, word);
}

}  // namespace tabane::comm
