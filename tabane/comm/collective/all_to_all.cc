#include "tabane/comm/collective/algorithm.h"
#include "tabane/comm/collective/board.h"

namespace tabane::comm {
namespace {

// Each rank shows a piece of each of its blocks in its slot; the others copy theirs.
// cost: 2 p n bytes copied on each rank.
void all_to_all_shared(Group& group, const Call& call) {
  Slots& slots = group.board()->slots;
  const Signature signature = signature_of(call);
  const auto p = static_cast<std::size_t>(group.size());
  const auto self = static_cast<std::size_t>(group.rank());
  const auto pass = [&](std::size_t begin, std::size_t bytes) {
    const std::span<std::byte> slot = slots.begin(any_source);
    for (std::size_t rank = 0; rank < p; ++rank) {
      copy_bytes(slot.subspan(rank * bytes, bytes),
                 call.in.subspan(rank * call.bytes + begin, bytes));
    }
    slots.publish(signature);
    for (std::size_t rank = 0; rank < p; ++rank) {
      copy_bytes(call.out.subspan(rank * call.bytes + begin, bytes),
                 slots.read(static_cast<int>(rank), signature).subspan(self * bytes, bytes));
    }
    slots.end();
  };
  for_pieces(call.bytes, slots.slot_bytes() / p, call.element.bytes, pass);
}

// All messages at once, each rank beginning with the one behind it.
// cost: p - 1 messages of n bytes to and from each rank.
void all_to_all_linear(Group& group, const Call& call) {
  Messages(group, call)
      .exchange_at_once([&](int rank) { return block_of(call.in, call, rank); },
                        [&](int rank) { return block_of(call.out, call, rank); });
}

// In round k each rank sends to the k-th after it and receives from the k-th before it.
// cost: p - 1 exchanges of n bytes one after the other.
void all_to_all_pairwise(Group& group, const Call& call) {
  const auto in = [&](int rank) { return block_of(call.in, call, rank); };
  const auto out = [&](int rank) { return block_of(call.out, call, rank); };
  copy_bytes(out(group.rank()), in(group.rank()));
  Messages(group, call).exchange_in_turn(in, out);
}

void all_to_all_native(Group& group, const Call& call) {
  if (is_too_large_for_native(group, call)) return all_to_all_pairwise(group, call);
  native(group).all_to_all(call.in, call.out);
}

}  // namespace

std::span<const Algorithm> all_to_all_algorithms() {
  static constexpr Algorithm kAll[] = {
      {Kind::all_to_all, "shared", all_to_all_shared, beyond_a_slot},
      {Kind::all_to_all, "linear", all_to_all_linear, never},
      {Kind::all_to_all, "pairwise", all_to_all_pairwise, never},
      {Kind::all_to_all, "native", all_to_all_native, without_native},
  };
  return kAll;
}

}  // namespace tabane::comm
