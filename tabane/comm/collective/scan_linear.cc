#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

// Each rank gets what those before it have made of their values, and hands it on with its own.
// cost: p - 1 messages of n bytes one after the other, one to and one from each rank.
void scan_linear(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  if (self == 0) return messages.send(1, call.values);
  const bool is_last = self + 1 == p;
  const std::span<std::byte> scratch = group.scratch(2 * call.bytes);
  const auto before = scratch.first(call.bytes), with_own = scratch.last(call.bytes);
  messages.recv(self - 1, before);
  if (call.kind == Kind::scan || !is_last) {
    copy_bytes(with_own, before);
    call.combine->apply(with_own.data(), call.values.data(),
                        call.bytes / call.combine->element_bytes);
  }
  if (!is_last) messages.send(self + 1, with_own);
  copy_bytes(call.values, call.kind == Kind::scan ? with_own : before);
}

}  // namespace tabane::comm
