#include <utility>

#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

// In round k each rank has the values of itself and up to 2^k - 1 ranks before it; it sends them to
// the one 2^k after it, and puts what comes from 2^k before it in front.
// cost: ceil(log2 p) messages of n bytes to and from each rank; up to 2 n combined for each.
void scan_doubling(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  const std::span<std::byte> scratch = group.scratch(3 * call.bytes);
  std::span<std::byte> sum = scratch.first(call.bytes), theirs = scratch.last(call.bytes);
  const std::span<std::byte> kept = scratch.subspan(call.bytes, call.bytes);
  const std::size_t elements = call.bytes / call.combine->element_bytes;
  copy_bytes(sum, call.values);
  for (int distance = 1; distance < p; distance *= 2) {
    const int to = self + distance, from = self - distance;
    std::unique_ptr<Pending> sent;
    if (to < p) sent = messages.isend(to, sum);
    if (from >= 0) messages.recv(from, theirs);
    if (sent) sent->wait();
    if (from < 0) continue;
    if (call.kind == Kind::exscan) {  // as `sum`, without this rank's own
      copy_bytes(kept, theirs);
      if (distance > 1) call.combine->apply(kept.data(), call.values.data(), elements);
      copy_bytes(call.values, kept);
    }
    call.combine->apply(theirs.data(), sum.data(), elements);
    std::swap(sum, theirs);
  }
  if (call.kind == Kind::scan) copy_bytes(call.values, sum);
}

}  // namespace tabane::comm
