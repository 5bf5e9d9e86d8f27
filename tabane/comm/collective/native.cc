// The transport's own collectives, which know blocks only, up to some size.
#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"

namespace tabane::comm {
namespace {

NativeCollectives& native(Group& group) { return *group.transport().collectives(); }

bool is_too_large(Group& group, const Call& call) {
  return call.bytes > native(group).most_bytes() / static_cast<std::size_t>(group.size());
}

// Parts of all ranks as blocks, sorted to where they belong at the end.
class Blocks {
 public:
  Blocks(Group& group, const Call& call)
      : call_(call),
        ranks_(group.size()),
        bytes_(call.layout == Layout::block
                   ? call.out
                   : group.scratch(call.bytes * static_cast<std::size_t>(ranks_))) {}
  std::span<std::byte> bytes() const { return bytes_; }
  void sort() const {
    if (call_.layout == Layout::block) return;
    for (int rank = 0; rank < ranks_; ++rank) {
      put_piece(call_.out, call_, ranks_, rank, 0,
                bytes_.subspan(static_cast<std::size_t>(rank) * call_.bytes, call_.bytes));
    }
  }

 private:
  const Call& call_;
  int ranks_;
  std::span<std::byte> bytes_;
};

}  // namespace

void barrier_native(Group& group, const Call&) { native(group).barrier(); }

void broadcast_native(Group& group, const Call& call) {
  native(group).broadcast(call.values, call.root);
}

void reduce_native(Group& group, const Call& call) {
  if (!native(group).reduce(call.values, *call.combine, call.root)) reduce_tree(group, call);
}

void all_reduce_native(Group& group, const Call& call) {
  if (!native(group).all_reduce(call.values, *call.combine)) all_reduce_tree(group, call);
}

void scatter_native(Group& group, const Call& call) {
  if (is_too_large(group, call)) return scatter_direct(group, call);
  if (group.rank() != call.root || call.layout == Layout::block) {
    return native(group).scatter(call.in, call.out, call.root);
  }
  const int p = group.size();
  const std::span<std::byte> blocks = group.scratch(call.bytes * static_cast<std::size_t>(p));
  for (int rank = 0; rank < p; ++rank) {
    take_piece(call.in, call, p, rank, 0,
               blocks.subspan(static_cast<std::size_t>(rank) * call.bytes, call.bytes));
  }
  native(group).scatter(blocks, call.out, call.root);
}

void gather_native(Group& group, const Call& call) {
  if (is_too_large(group, call)) return gather_direct(group, call);
  if (group.rank() != call.root) return native(group).gather(call.in, {}, call.root);
  const Blocks blocks(group, call);
  native(group).gather(call.in, blocks.bytes(), call.root);
  blocks.sort();
}

void all_gather_native(Group& group, const Call& call) {
  if (is_too_large(group, call)) return all_gather_ring(group, call);
  const Blocks blocks(group, call);
  native(group).all_gather(call.in, blocks.bytes());
  blocks.sort();
}

void all_to_all_native(Group& group, const Call& call) {
  if (is_too_large(group, call)) return all_to_all_pairwise(group, call);
  native(group).all_to_all(call.in, call.out);
}

}  // namespace tabane::comm
