#include <array>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/in_order.h"
#include "tabane/comm/collective/layout.h"

namespace tabane::comm {

// Each rank shows its values in a line; the last one to come combines all and shows the result.
// With more ranks than PUs each runs once to come and once to leave.
// cost: p atomic additions to one line, and p - 1 lines read by one rank.
void all_reduce_counter(Group& group, const Call& call) {
  Lines& lines = group.board()->lines;
  const Word word = lines.begin(call);
  lines.write(word, call.values);
  if (!lines.is_last()) return copy_bytes(call.values, {lines.read_release(word), call.bytes});
  for (int rank = 0; rank < lines.ranks(); ++rank) {
    add_in_order(*call.combine, call.values, rank, lines.read(rank, word));
  }
  lines.write_release(word, call.values);
  lines.notify_all();
}

}  // namespace tabane::comm
