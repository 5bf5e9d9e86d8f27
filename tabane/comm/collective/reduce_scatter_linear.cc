#include "tabane/comm/collective/algorithms.h"
#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/messages.h"

namespace tabane::comm {

// Each rank sends the others their blocks, all at once, and combines those that it gets in the
// order of ranks, each as soon as those before it are there.
// cost: p - 1 messages of n bytes to and from each rank; p n bytes of scratch.
void reduce_scatter_linear(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  const auto block = [&](int rank) {
    return call.in.subspan(static_cast<std::size_t>(rank) * call.bytes, call.bytes);
  };
  const std::span<std::byte> scratch = group.scratch(static_cast<std::size_t>(p) * call.bytes);
  const auto from_rank = [&](int rank) {
    return rank == 0 ? call.out
                     : scratch.subspan(static_cast<std::size_t>(rank) * call.bytes, call.bytes);
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

}  // namespace tabane::comm
