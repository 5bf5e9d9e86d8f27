#include "tabane/comm/collective/algorithm.h"
#include "tabane/comm/collective/board.h"

namespace tabane::comm {
namespace {

// Shows a piece of each of the other ranks' blocks, one behind the other.
void show_pieces(const Call& call, std::size_t ranks, std::size_t self, std::size_t begin,
                 std::size_t bytes, std::span<std::byte> slot) {
  std::size_t at = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (rank == self) continue;
    copy_bytes(slot.subspan(at, bytes), call.in.subspan(rank * call.bytes + begin, bytes));
    at += bytes;
  }
}

// Each rank shows a piece of each block in its slot; of their own blocks, the ranks combine the
// pieces where they are.
// cost: (p - 1) n bytes copied and p n read on each rank.
void reduce_scatter_shared(Group& group, const Call& call) {
  Slots& slots = group.board()->slots;
  const Signature signature = signature_of(call);
  const auto p = static_cast<std::size_t>(group.size());
  const auto self = static_cast<std::size_t>(group.rank());
  const auto pass = [&](std::size_t begin, std::size_t bytes) {
    show_pieces(call, p, self, begin, bytes, slots.begin(any_source));
    slots.publish(signature);
    const std::span<std::byte> sum = call.out.subspan(begin, bytes);
    for (std::size_t rank = 0; rank < p; ++rank) {
      const std::size_t place = self - (rank < self ? 1 : 0);  // where it left out its own
      const std::byte* const theirs =
          rank == self ? call.in.data() + self * call.bytes + begin
                       : slots.read(static_cast<int>(rank), signature).data() + place * bytes;
      add_in_order(*call.combine, sum, static_cast<int>(rank), theirs);
    }
    slots.end();
  };
  for_pieces(call.bytes, slots.slot_bytes() / (p - 1), call.combine->element_bytes, pass);
}

// Each rank sends the others their blocks, all at once, and combines those that it gets in the
// order of ranks, each as soon as those before it are there.
// cost: p - 1 messages of n bytes to and from each rank; p n bytes of scratch.
void reduce_scatter_linear(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  const auto block = [&](int rank) { return block_of(call.in, call, rank); };
  const std::span<std::byte> scratch = group.scratch(static_cast<std::size_t>(p) * call.bytes);
  const auto from_rank = [&](int rank) {
    return rank == 0 ? call.out : block_of(scratch, call, rank);
  };
  std::vector<std::unique_ptr<Pending>> received(static_cast<std::size_t>(p)), sent;
  for (int round = 1; round < p; ++round) {
    const int from = (self - round + p) % p;
    received[static_cast<std::size_t>(from)] = messages.irecv(from, from_rank(from));
  }
  for (int round = 1; round < p; ++round) {
    const int to = (self + round) % p;
    sent.push_back(messages.isend(to, block(to)));
  }
  const std::size_t elements = call.bytes / call.combine->element_bytes;
  for (int rank = 0; rank < p; ++rank) {
    if (rank != self) messages.finish(*received[static_cast<std::size_t>(rank)], call.bytes);
    if (rank == 0 && self == 0) copy_bytes(call.out, block(0));
    if (rank == 0) continue;
    const std::byte* const theirs = rank == self ? block(self).data() : from_rank(rank).data();
    call.combine->apply(call.out.data(), theirs, elements);
  }
  wait_all(sent);
}

// In round k each rank sends the k-th after it its block, and gets its own from the k-th before it;
// then it combines what it has got in the order of ranks.
// cost: p - 1 exchanges of n bytes one after the other; p n bytes of scratch.
void reduce_scatter_pairwise(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  const auto block = [&](int rank) { return block_of(call.in, call, rank); };
  const std::span<std::byte> scratch = group.scratch(static_cast<std::size_t>(p) * call.bytes);
  const auto from_rank = [&](int rank) { return block_of(scratch, call, rank); };
  messages.exchange_in_turn(block, from_rank);
  for (int rank = 0; rank < p; ++rank) {
    add_in_order(*call.combine, call.out, rank,
                 rank == self ? block(self).data() : from_rank(rank).data());
  }
}

}  // namespace

std::span<const Algorithm> reduce_scatter_algorithms() {
  static constexpr Algorithm kAll[] = {
      {Kind::reduce_scatter, "shared", reduce_scatter_shared, beyond_a_slot, true},
      {Kind::reduce_scatter, "linear", reduce_scatter_linear, never, true},
      {Kind::reduce_scatter, "pairwise", reduce_scatter_pairwise, never, true},
  };
  return kAll;
}

}  // namespace tabane::comm
