#include "tabane/comm/collective/algorithm.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/schedule.h"

namespace tabane::comm {
namespace {

// Through the ring of chunks.
// cost: n bytes written once and read p - 1 times at the same time; up to 32 bytes take one cache
// line.
void broadcast_flags(Group& group, const Call& call) {
  ChunkRing& ring = group.board()->ring;
  const Signature signature = signature_of(call);
  for_pieces(call.bytes, ring.chunk_bytes(), 1, [&](std::size_t begin, std::size_t bytes) {
    const std::span<std::byte> piece = call.values.subspan(begin, bytes);
    if (group.rank() == call.root) {
      copy_bytes(ring.begin(), piece);
      ring.publish(signature);
    } else {
      copy_bytes(piece, ring.read(signature, call.root).first(bytes));
      ring.consume(call.root, begin + bytes == call.bytes);
    }
  });
}

}  // namespace

// Each rank that has the values sends them on: after round k, 2^k ranks have them. Ranks count from
// the root. cost: ceil(log2 p) messages of n bytes one after the other.
void broadcast_binomial(Group& group, const Call& call) {
  Messages messages(group, call);
  const BinomialNode node(group.size(), group.rank(), call.root);
  if (node.position != 0) messages.recv(node.parent(), call.values);
  for (int distance = node.span / 2; distance > 0; distance /= 2) {
    if (node.position + distance < node.ranks)
      messages.send(node.rank_at(node.position + distance), call.values);
  }
}

namespace {

// The root hands out segments, which then go round the ring.
// cost: 2 (p - 1) messages of n / p bytes; the root sends 2 n bytes, however many ranks there are.
void broadcast_scatter_all_gather(Group& group, const Call& call) {
  Messages messages(group, call);
  const auto part = [&](int rank) {
    return segment_of(call.values, call.element.bytes, group.size(), rank);
  };
  if (group.rank() == call.root) {
    wait_all(messages.isend_to_others(part));
  } else {
    messages.recv(call.root, part(group.rank()));
  }
  messages.pass_round(part);
}

void broadcast_native(Group& group, const Call& call) {
  native(group).broadcast(call.values, call.root);
}

}  // namespace

// As broadcast_binomial.
// cost: ceil(log2 p) messages of n bytes one after the other.
void add_broadcast(Rounds& rounds, const Group& group, const Call& call) {
  const BinomialNode node(group.size(), group.rank(), call.root);
  if (node.position != 0) {
    rounds.receive(node.parent(), call.values);
    rounds.end_round();
  }
  for (int distance = node.span / 2; distance > 0; distance /= 2) {
    if (node.position + distance < node.ranks)
      rounds.send(node.rank_at(node.position + distance), call.values);
  }
  rounds.end_round();
}

std::span<const Algorithm> broadcast_algorithms() {
  static constexpr Algorithm kAll[] = {
      {Kind::broadcast, "flags", broadcast_flags, without_memory},
      {Kind::broadcast, "binomial", broadcast_binomial, never},
      {Kind::broadcast, "scatter_all_gather", broadcast_scatter_all_gather, never},
      {Kind::broadcast, "native", broadcast_native, without_native},
  };
  return kAll;
}

}  // namespace tabane::comm
