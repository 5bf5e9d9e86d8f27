#include <array>

#include "tabane/comm/collective/algorithm.h"
#include "tabane/comm/collective/board.h"

namespace tabane::comm {
namespace {

// Each rank shows its values in a line, which the root reads.
// cost: p - 1 lines read by the root; the others wait only if they are two calls ahead of it.
void reduce_flags(Group& group, const Call& call) {
  alignas(kLineBytes) std::array<std::byte, kLineValueBytes> line;
  const std::span<std::byte> sum = std::span(line).first(call.bytes);
  group.board()->root_lines.collect(call, call.values, [&](int rank, const std::byte* values) {
    add_in_order(*call.combine, sum, rank, values);
  });
  if (group.rank() == call.root) copy_bytes(call.values, sum);
}

// One piece of the values, on the root.
void combine_piece(Group& group, const Call& call, const Signature& signature,
                   std::span<std::byte> piece) {
  Slots& slots = group.board()->slots;
  const std::span<std::byte> sum = group.scratch(piece.size());
  for (int rank = 0; rank < group.size(); ++rank) {
    const std::byte* const theirs =
        rank == call.root ? piece.data() : slots.read(rank, signature).data();
    add_in_order(*call.combine, sum, rank, theirs);
  }
  copy_bytes(piece, sum);
  slots.end();
}

// Each rank shows its values in its slot, as many as fit; the root combines them there.
// cost: n bytes copied on each rank; p n bytes read by the root.
void reduce_shared(Group& group, const Call& call) {
  Slots& slots = group.board()->slots;
  const Signature signature = signature_of(call);
  for_pieces(slots, call, [&](std::span<std::byte> piece) {
    const std::span<std::byte> slot = slots.begin(call.root);
    if (group.rank() == call.root) {
      combine_piece(group, call, signature, piece);
    } else {
      copy_bytes(slot, piece);
      slots.publish(signature);
    }
  });
}

}  // namespace

// All send to the root.
// cost: p - 1 messages of n bytes, received one after the other.
void reduce_linear(Group& group, const Call& call) {
  Messages messages(group, call);
  if (group.rank() != call.root) return messages.send(call.root, call.values);
  const std::span<std::byte> scratch = group.scratch(2 * call.bytes);
  const auto sum = scratch.first(call.bytes), theirs = scratch.last(call.bytes);
  for (int rank = 0; rank < group.size(); ++rank) {
    if (rank != call.root) messages.recv(rank, theirs);
    add_in_order(*call.combine, sum, rank, rank == call.root ? call.values.data() : theirs.data());
  }
  copy_bytes(call.values, sum);
}

// A binomial tree to rank 0, which sends the result to the root: so the order of combination, and
// with it the bits of the result, do not depend on the root. What a rank combines is in its
// scratch, since of a reduce only the root's values may change.
// cost: ceil(log2 p) messages of n bytes one after the other, and one more if the root is not 0.
void reduce_tree(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  const bool is_leaf = self % 2 == 1 || self + 1 >= p;
  const bool in_place = self == call.root || is_leaf || call.kind == Kind::all_reduce;
  const std::span<std::byte> scratch = group.scratch(is_leaf ? 0 : call.bytes * (in_place ? 1 : 2));
  const std::span<std::byte> sum = in_place ? call.values : scratch.last(call.bytes);
  if (!in_place) copy_bytes(sum, call.values);
  int distance = 1;
  for (; distance < p && (self & distance) == 0; distance *= 2) {
    if (self + distance >= p) continue;
    const std::span<std::byte> theirs = scratch.first(call.bytes);
    messages.recv(self + distance, theirs);
    call.combine->apply(sum.data(), theirs.data(), call.bytes / call.combine->element_bytes);
  }
  if (self != 0) messages.send(self - distance, sum);
  if (call.root == 0) return;
  if (self == 0) messages.send(call.root, sum);
  if (self == call.root) messages.recv(0, call.values);
}

namespace {

void reduce_native(Group& group, const Call& call) {
  if (!native(group).reduce(call.values, *call.combine, call.root)) reduce_tree(group, call);
}

}  // namespace

std::span<const Algorithm> reduce_algorithms() {
  static constexpr Algorithm kAll[] = {
      {Kind::reduce, "flags", reduce_flags, beyond_a_line, true},
      {Kind::reduce, "shared", reduce_shared, beyond_a_slot, true},
      {Kind::reduce, "linear", reduce_linear, never, true},
      {Kind::reduce, "tree", reduce_tree, never},
      {Kind::reduce, "native", reduce_native, without_native_reduction},
  };
  return kAll;
}

}  // namespace tabane::comm
