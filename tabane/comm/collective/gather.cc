#include <algorithm>

#include "tabane/comm/collective/algorithm.h"
#include "tabane/comm/collective/board.h"

namespace tabane::comm {
namespace {

// Each rank shows its part in a line, which the root reads.
// cost: p - 1 lines read by the root; the others wait only if they are two calls ahead of it.
void gather_flags(Group& group, const Call& call) {
  group.board()->root_lines.collect(call, call.in, [&](int rank, const std::byte* part) {
    put_piece(call.out, call, group.size(), rank, 0, {part, call.bytes});
  });
}

void write_part(Group& group, const Call& call) {
  const WindowOffer offer = WindowExchange(group, call).receive_offer();
  const CopyResult written =
      group.transport().memory()->write(call.root, offer.window, offer.offset, call.in);
  if (!WindowExchange(group, call).answer(offer, written))
    Messages(group, call).send(call.root, call.in);
}

// The root tells the others where their parts belong, and each writes its own there: all at the
// same time, each part copied once. Where the system refuses that, it is sent. Nobody writes if the
// parts are not of the same size on both sides, or the root is not in this gather any more.
// cost: 2 (p - 1) messages of a few bytes; n bytes copied by each rank.
void gather_written(Group& group, const Call& call) {
  if (group.rank() != call.root) return write_part(group, call);
  const int p = group.size();
  const Blocks parts(group, call);
  OpenWindow window(*group.transport().memory(), parts.all());
  WindowExchange talk(group, call);
  talk.send_offers(window);
  put_piece(call.out, call, p, call.root, 0, call.in);
  for (int rank = 0; rank < p; ++rank) {
    if (rank == call.root) continue;
    if (!talk.is_done(rank, window)) Messages(group, call).recv(rank, parts.of(rank));
    parts.sort(rank);
  }
  window.end();
}

}  // namespace

// Parts that wait for their messages, on the root.
class ExpectedParts {
 public:
  ExpectedParts(Group& group, const Call& call)
      : ranks_(group.size()), messages_(group, call), parts_(group, call) {
    for (int rank = 0; rank < ranks_; ++rank) {
      pending_.push_back(rank == call.root ? nullptr : messages_.irecv(rank, parts_.of(rank)));
    }
    parts_.put(call.root, call.in);
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
  void take(int rank) {
    std::unique_ptr<Pending>& pending = pending_[static_cast<std::size_t>(rank)];
    messages_.finish(*pending, parts_.of(rank).size());
    pending.reset();
    parts_.sort(rank);
  }
  void take_arrived(int from_rank) {
    if (!parts_.is_scratch()) return;
    for (int rank = from_rank; rank < ranks_; ++rank) {
      const std::unique_ptr<Pending>& pending = pending_[static_cast<std::size_t>(rank)];
      if (pending && pending->test()) take(rank);
    }
  }

  int ranks_;
  Messages messages_;
  Blocks parts_;
  std::vector<std::unique_ptr<Pending>> pending_;  // by rank; null: taken
};

// All send to the root, which receives from all at once, each part to its place, also varying ones;
// parts of a cyclic layout it sorts in while others arrive. Each receive names its rank: from
// any_source, a fast rank's part of the next gather could be taken for a slow one's of this. cost:
// p - 1 messages of n bytes, all to the root.
void gather_direct(Group& group, const Call& call) {
  if (group.rank() != call.root) return Messages(group, call).send(call.root, call.in);
  ExpectedParts(group, call).finish();
}

namespace {

// The root asks one rank after the other, also for varying parts. To compare with.
// cost: 2 (p - 1) messages one after the other, half of them empty.
void gather_polling(Group& group, const Call& call) {
  Messages messages(group, call);
  if (group.rank() != call.root) {
    messages.recv(call.root, {});
    return messages.send(call.root, call.in);
  }
  const Blocks parts(group, call);
  parts.put(call.root, call.in);
  for (int rank = 0; rank < group.size(); ++rank) {
    if (rank == call.root) continue;
    messages.send(rank, {});
    messages.recv(rank, parts.of(rank));
    parts.sort(rank);
  }
}

// Each rank collects the parts of those that it serves and sends them on. Ranks count from the
// root.
// cost: ceil(log2 p) messages one after the other, of p n bytes in all.
void gather_binomial(Group& group, const Call& call) {
  Messages messages(group, call);
  const BinomialNode node(group.size(), group.rank(), call.root);
  const int p = node.ranks;
  const auto served = static_cast<std::size_t>(node.served());
  if (served == 1) return messages.send(node.parent(), call.in);
  const std::span<std::byte> parts = group.scratch(served * call.bytes);
  copy_bytes(parts, call.in);
  for (int distance = 1; distance < node.span && node.position + distance < p; distance *= 2) {
    const auto begin = static_cast<std::size_t>(distance);
    const std::size_t end = std::min(2 * begin, served);
    messages.recv(node.rank_at(node.position + distance),
                  parts.subspan(begin * call.bytes, (end - begin) * call.bytes));
  }
  if (node.position != 0) return messages.send(node.parent(), parts);
  for (int at = 0; at < p; ++at) {
    put_piece(call.out, call, p, node.rank_at(at), 0, block_of(parts, call, at));
  }
}

void gather_native(Group& group, const Call& call) {
  if (is_too_large_for_native(group, call)) return gather_direct(group, call);
  const bool cyclic = call.layout == Layout::cyclic;
  if (group.rank() != call.root) return native(group).gather(call.in, {}, call.root, cyclic);
  const Blocks blocks(group, call);
  native(group).gather(call.in, blocks.all(), call.root, cyclic);
  blocks.sort();
}

}  // namespace

std::span<const Algorithm> gather_algorithms() {
  static constexpr Algorithm kAll[] = {
      {Kind::gather, "flags", gather_flags, beyond_a_line},
      {Kind::gather, "written", gather_written, without_memory},
      {Kind::gather, "direct", gather_direct, never},
      {Kind::gather, "polling", gather_polling, never},
      {Kind::gather, "binomial", gather_binomial, never},
      {Kind::gather, "native", gather_native, without_native},

      {Kind::gather_varying, "direct", gather_direct, never},
      {Kind::gather_varying, "polling", gather_polling, never},
  };
  return kAll;
}

}  // namespace tabane::comm
