#include <algorithm>

#include "tabane/comm/collective/algorithm.h"
#include "tabane/comm/collective/board.h"

namespace tabane::comm {
namespace {

// Copies what is this rank's of a chunk of all, which begins at byte `begin`.
void pick(const Call& call, int ranks, int rank, std::size_t begin,
          std::span<const std::byte> chunk) {
  const auto p = static_cast<std::size_t>(ranks), r = static_cast<std::size_t>(rank);
  if (call.layout == Layout::block) {
    const std::size_t from = std::max(begin, r * call.bytes);
    const std::size_t to = std::min(begin + chunk.size(), (r + 1) * call.bytes);
    if (from < to) {
      copy_bytes(call.out.subspan(from - r * call.bytes, to - from),
                 chunk.subspan(from - begin, to - from));
    }
    return;
  }
  const std::size_t element = call.element.bytes;
  const std::size_t first = begin / element, elements = chunk.size() / element;
  const std::size_t skip = (r + p - first % p) % p;  // to this rank's first element of the chunk
  if (skip >= elements) return;
  copy_strided(call.out.data() + (first + skip) / p * element, element,
               chunk.data() + skip * element, p * element, (elements - skip + p - 1) / p * element,
               element);
}

// The root writes all into the ring of chunks, unsorted; each rank picks its own part, so that
// with a cyclic layout the ranks share the work of sorting.
// cost: p n bytes written once; n read by each rank, which looks at each chunk.
void scatter_flags(Group& group, const Call& call) {
  ChunkRing& ring = group.board()->ring;
  const Signature signature = signature_of(call);
  const int p = group.size(), self = group.rank();
  const std::size_t total = call.bytes * static_cast<std::size_t>(p);
  const std::size_t element = call.layout == Layout::cyclic ? call.element.bytes : 1;
  for_pieces(total, ring.chunk_bytes(), element, [&](std::size_t begin, std::size_t bytes) {
    if (self == call.root) {
      copy_bytes(ring.begin(), call.in.subspan(begin, bytes));
      ring.publish(signature);
    } else {
      pick(call, p, self, begin, ring.read(signature, call.root).first(bytes));
      ring.consume(call.root, begin + bytes == total);
    }
  });
  if (self == call.root) take_piece(call.in, call, p, self, 0, call.out);
}

void read_own_part(Group& group, const Call& call) {
  WindowExchange talk(group, call);
  const WindowOffer offer = talk.receive_offer();
  const CopyResult read =
      group.transport().memory()->read(call.root, offer.window, offer.offset, call.out);
  if (!talk.answer(offer, read)) Messages(group, call).recv(call.root, call.out);
}

// The root tells the others where their parts are, and each reads its own there: all at the same
// time, each part copied once. Parts of a cyclic layout the root sorts out first. Where the system
// refuses that, it is sent. Nobody reads if the parts are not of the same size on both sides, or
// the root is not in this scatter any more.
// cost: 2 (p - 1) messages of a few bytes; n bytes copied by each rank.
void scatter_read(Group& group, const Call& call) {
  if (group.rank() != call.root) return read_own_part(group, call);
  const std::span<const std::byte> all = BlocksToSend(group, call).all();
  OpenWindow window(*group.transport().memory(), all);
  WindowExchange talk(group, call);
  talk.send_offers(window);
  copy_bytes(call.out, block_of(all, call, call.root));
  for (int rank = 0; rank < group.size(); ++rank) {
    if (rank == call.root || talk.is_done(rank, window)) continue;
    Messages(group, call).send(rank, block_of(all, call, rank));
  }
  window.end();
}

// The root sends each rank its part, also varying ones; those of a cyclic layout it sorts out
// first. cost: p - 1 messages of n bytes, all from the root.
void scatter_direct(Group& group, const Call& call) {
  Messages messages(group, call);
  if (group.rank() != call.root) return messages.recv(call.root, call.out);
  const BlocksToSend parts(group, call);
  const auto sent = messages.isend_to_others([&](int rank) { return parts.of(rank); });
  parts.copy(call.root, call.out);
  wait_all(sent);
}

// The root serves one rank after the other, each when it has asked. To compare with.
// cost: 2 (p - 1) messages one after the other, half of them empty.
void scatter_polling(Group& group, const Call& call) {
  Messages messages(group, call);
  if (group.rank() != call.root) {
    messages.send(call.root, {});
    return messages.recv(call.root, call.out);
  }
  const BlocksToSend parts(group, call);
  for (int rank = 0; rank < group.size(); ++rank) {
    if (rank == call.root) continue;
    messages.recv(rank, {});
    messages.send(rank, parts.of(rank));
  }
  parts.copy(call.root, call.out);
}

// Each rank gets the parts of all that it serves, and hands on those of others. Ranks count from
// the root.
// cost: ceil(log2 p) messages one after the other, of p n bytes in all.
void scatter_binomial(Group& group, const Call& call) {
  Messages messages(group, call);
  const BinomialNode node(group.size(), group.rank(), call.root);
  const int p = node.ranks;
  const auto served = static_cast<std::size_t>(node.served());
  if (served == 1) return messages.recv(node.parent(), call.out);
  const std::span<std::byte> parts = group.scratch(served * call.bytes);
  if (node.position == 0) {
    for (int at = 0; at < p; ++at) {
      take_piece(call.in, call, p, node.rank_at(at), 0, block_of(parts, call, at));
    }
  } else {
    messages.recv(node.parent(), parts);
  }
  for (int distance = node.span / 2; distance > 0; distance /= 2) {
    if (node.position + distance >= p) continue;
    const auto begin = static_cast<std::size_t>(distance);
    const std::size_t end = std::min(2 * begin, served);
    messages.send(node.rank_at(node.position + distance),
                  parts.subspan(begin * call.bytes, (end - begin) * call.bytes));
  }
  copy_bytes(call.out, parts.first(call.bytes));
}

void scatter_native(Group& group, const Call& call) {
  if (is_too_large_for_native(group, call)) return scatter_direct(group, call);
  const bool is_root = group.rank() == call.root;
  native(group).scatter(is_root ? BlocksToSend(group, call).all() : call.in, call.out, call.root);
}

const char* beyond_a_chunk(const Group& group, const Call& call) {
  if (group.board() == nullptr) return "needs memory that the ranks share";
  return call.layout == Layout::cyclic && call.element.bytes > group.board()->ring.chunk_bytes()
             ? "has no room for elements of this size"
             : nullptr;
}

}  // namespace

std::span<const Algorithm> scatter_algorithms() {
  static constexpr Algorithm kAll[] = {
      {Kind::scatter, "flags", scatter_flags, beyond_a_chunk},
      {Kind::scatter, "read", scatter_read, without_memory},
      {Kind::scatter, "direct", scatter_direct, never},
      {Kind::scatter, "polling", scatter_polling, never},
      {Kind::scatter, "binomial", scatter_binomial, never},
      {Kind::scatter, "native", scatter_native, without_native},

      {Kind::scatter_varying, "direct", scatter_direct, never},
      {Kind::scatter_varying, "polling", scatter_polling, never},
  };
  return kAll;
}

}  // namespace tabane::comm
