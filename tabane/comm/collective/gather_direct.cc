#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {
namespace {

// Parts that wait for their messages, on the root.
class ExpectedParts {
 public:
  ExpectedParts(Group& group, const Call& call)
      : call_(call), ranks_(group.size()), messages_(group, call) {
    const bool sorted = call.layout == Layout::block;
    into_ = sorted ? call.out : group.scratch(call.bytes * static_cast<std::size_t>(ranks_));
    for (int rank = 0; rank < ranks_; ++rank) {
      pending_.push_back(rank == call.root ? nullptr : messages_.irecv(rank, part(rank)));
    }
  }

  // Sorts in those that are there, and waits for one that is not.
  void finish() {
    for (int rank = 0; rank < ranks_; ++rank) {
      if (!pending_[static_cast<std::size_t>(rank)]) continue;
      take_arrived(rank + 1);
      take(rank);
    }
  }

 private:
  std::span<std::byte> part(int rank) const {
    return into_.subspan(static_cast<std::size_t>(rank) * call_.bytes, call_.bytes);
  }
  void take(int rank) {
    std::unique_ptr<Pending>& pending = pending_[static_cast<std::size_t>(rank)];
    messages_.finish(*pending, call_.bytes);
    pending.reset();
    if (call_.layout != Layout::block) put_piece(call_.out, call_, ranks_, rank, 0, part(rank));
  }
  void take_arrived(int from_rank) {
    if (call_.layout == Layout::block) return;  // they lie where they belong
    for (int rank = from_rank; rank < ranks_; ++rank) {
      const std::unique_ptr<Pending>& pending = pending_[static_cast<std::size_t>(rank)];
      if (pending && pending->test()) take(rank);
    }
  }

  const Call& call_;
  int ranks_;
  Messages messages_;
  std::span<std::byte> into_;
  std::vector<std::unique_ptr<Pending>> pending_;  // by rank; null: taken
};

}  // namespace

// All send to the root, which receives from all at once, each part to its place; parts of a cyclic
// layout it sorts in while others arrive. Each receive names its rank: from any_source, a fast
// rank's part of the next gather could be taken for a slow one's of this.
// cost: p - 1 messages of n bytes, all to the root.
void gather_direct(Group& group, const Call& call) {
  if (group.rank() != call.root) return Messages(group, call).send(call.root, call.in);
  ExpectedParts parts(group, call);
  put_piece(call.out, call, group.size(), call.root, 0, call.in);
  parts.finish();
}

}  // namespace tabane::comm
