#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"

namespace tabane::comm {

// Leaders look at the lines of their ranks, and all look at the leaders' lines.
// cost: 2 sqrt(p) lines read on a leader.
void barrier_two_level(Group& group, const Call& call) {
  Lines& lines = group.board()->lines;
  const Word word = lines.begin(call);
  lines.write(word, {});
  if (lines.is_leader()) {
    for (int rank = lines.rank(); rank < lines.end_of_my_ranks(); ++rank) lines.read(rank, word);
    lines.write_as_leader(word, {});
    lines.notify_all();
  } else {
    lines.notify(lines.my_leader());
  }
  for (int leader = 0; leader < lines.leaders(); ++leader) lines.read_leader(leader, word);
}

}  // namespace tabane::comm
