#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"

namespace tabane::comm {

// All count themselves; the last one releases the others, who look at one line. With more ranks
// than PUs each runs once to come and once to leave, and nobody is woken in vain.
// cost: p atomic additions to one line, one after the other.
void barrier_counter(Group& group, const Call& call) {
  Lines& lines = group.board()->lines;
  const Word word = lines.begin(call);
  if (lines.is_last()) {
    lines.write_release(word, {});
    lines.notify_all();
  } else {
    lines.read_release(word);
  }
}

}  // namespace tabane::comm
