#include <algorithm>
#include <cstring>

#include "tabane/comm/collective/algorithm.h"
#include "tabane/comm/collective/board.h"

namespace tabane::comm {
namespace {

void copy_lines(Group& group, const Call& call, bool all_come) {
  const auto put = [&](int rank, const std::byte* part) {
    put_piece(call.out, call, group.size(), rank, 0, {part, call.bytes});
  };
  group.board()->lines.exchange(call, call.in, put, all_come);
}

// Each rank shows its part in a line and reads those of all.
// cost: a line written and p - 1 read on each rank, all at the same time.
void all_gather_flags(Group& group, const Call& call) { copy_lines(group, call, false); }

// Each rank shows its part in a line; the last one to come releases all, who read all lines. With
// more ranks than PUs each runs once to come and once to leave.
// cost: p atomic additions to one line, p - 1 lines read on each rank.
void all_gather_counter(Group& group, const Call& call) { copy_lines(group, call, true); }

// Each rank shows its part in its slot, as much as fits, and copies those of all.
// cost: (p + 1) n bytes copied on each rank.
void all_gather_shared(Group& group, const Call& call) {
  Slots& slots = group.board()->slots;
  const auto pass = [&](std::size_t begin, std::size_t bytes) {
    const auto put = [&](int rank, std::span<const std::byte> slot) {
      put_piece(call.out, call, group.size(), rank, begin, slot.first(bytes));
    };
    slots.exchange(signature_of(call), call.in.subspan(begin, bytes), group.size(), put);
  };
  for_pieces(call.bytes, slots.slot_bytes(), call.element.bytes, pass);
}

// All send to all at once, also varying parts. With more ranks than PUs no rank waits for its turn
// in a ring. cost: p - 1 messages of n bytes to and from each rank.
void all_gather_linear(Group& group, const Call& call) {
  Messages messages(group, call);
  const Blocks parts(group, call);
  messages.exchange_at_once([&](int) { return call.in; }, [&](int rank) { return parts.of(rank); });
  parts.sort();
}

// Shows `values` to all, with more ranks than PUs so that each runs once to come and once to leave.
template <class T>
Word show(Group& group, const Call& call, const T& values) {
  return group.board()->lines.show(call, std::as_bytes(std::span(&values, 1)),
                                   group.transport().crowded());
}

template <class T>
T shown_by(Group& group, int rank, Word word) {
  T value;
  std::memcpy(&value, group.board()->lines.read(rank, word), sizeof(T));
  return value;
}

// Returns whether the system has permitted it.
bool read_part(Group& group, const Call& call, int rank, const WindowOffer& offer,
               std::span<std::byte> into) {
  const Signature own = signature_of(call);
  if (offer.signature != own) throw_different_calls(group.rank(), own, rank, offer.signature);
  const CopyResult read = group.transport().memory()->read(rank, offer.window, 0, into);
  if (read == CopyResult::closed) throw_owner_has_left(group, call, rank);
  return read == CopyResult::done;
}

// Each rank shows where its part is, reads those of all others there, and shows that it is done.
// Each part is copied once by each rank, all at the same time. Where the system refuses that to one
// of them, all parts are sent.
// cost: two lines written and 2 (p - 1) read, and p n bytes copied, on each rank.
void all_gather_read(Group& group, const Call& call) {
  const int p = group.size(), self = group.rank();
  const Blocks parts(group, call);
  bool refused = false;
  {
    OpenWindow window(*group.transport().memory(), call.in);
    const Word word = show(group, call, WindowOffer{signature_of(call), window.key(), 0});
    copy_bytes(parts.of(self), call.in);
    for (int round = 1; round < p; ++round) {
      const int rank = (self + round) % p;
      const auto offer = shown_by<WindowOffer>(group, rank, word);
      refused |= !read_part(group, call, rank, offer, parts.of(rank));
    }
    const Word done = show(group, call, refused);
    for (int rank = 0; rank < p; ++rank) refused |= shown_by<bool>(group, rank, done);
    window.end();
  }
  if (refused) return all_gather_linear(group, call);
  parts.sort();
}

// Parts, also varying ones, go round the ring of ranks.
// cost: p - 1 messages of n bytes one after the other, each round as long as its longest part.
void all_gather_ring(Group& group, const Call& call) {
  Messages messages(group, call);
  const Blocks parts(group, call);
  copy_bytes(parts.of(group.rank()), call.in);
  messages.pass_round([&](int rank) { return parts.of(rank); });
  parts.sort();
}

// Rank 0 gathers all parts and broadcasts them.
// cost: as gather_direct and broadcast_binomial of p n bytes.
void all_gather_gather_broadcast(Group& group, const Call& call) {
  gather_direct(group, call);
  Call broadcast = call;
  broadcast.values = call.out;
  broadcast.bytes = call.out.size();
  broadcast_binomial(group, broadcast);
}

// What a slot of `room` bytes shows of a part, from `begin` on; empty beyond its end.
template <class Byte>
std::span<Byte> piece_of(std::span<Byte> part, std::size_t begin, std::size_t room) {
  begin = std::min(begin, part.size());
  return part.subspan(begin, std::min(room, part.size() - begin));
}

// Each rank shows its part in its slot, as much as fits, and copies those of all; until the longest
// part is through.
// cost: on each rank its own part and all parts copied; as many steps as the longest part needs.
void all_gather_varying_shared(Group& group, const Call& call) {
  Slots& slots = group.board()->slots;
  const VaryingParts parts(call);
  const std::size_t room = slots.slot_bytes(), most = parts.most_bytes();
  for (std::size_t begin = 0; begin < most; begin += room) {
    const auto put = [&](int rank, std::span<const std::byte> slot) {
      const std::span<std::byte> to = piece_of(parts.part(call.out, rank), begin, room);
      copy_bytes(to, slot.first(to.size()));
    };
    slots.exchange(signature_of(call), piece_of(call.in, begin, room), group.size(), put);
  }
}

void all_gather_native(Group& group, const Call& call) {
  if (is_too_large_for_native(group, call)) return all_gather_ring(group, call);
  const Blocks blocks(group, call);
  native(group).all_gather(call.in, blocks.all());
  blocks.sort();
}

}  // namespace

std::span<const Algorithm> all_gather_algorithms() {
  static constexpr Algorithm kAll[] = {
      {Kind::all_gather, "flags", all_gather_flags, beyond_a_line, false, true},
      {Kind::all_gather, "counter", all_gather_counter, beyond_a_line, false, true},
      {Kind::all_gather, "shared", all_gather_shared, beyond_a_slot},
      {Kind::all_gather, "read", all_gather_read, without_memory},
      {Kind::all_gather, "linear", all_gather_linear, never},
      {Kind::all_gather, "ring", all_gather_ring, never},
      {Kind::all_gather, "gather_broadcast", all_gather_gather_broadcast, never},
      {Kind::all_gather, "native", all_gather_native, without_native},

      {Kind::all_gather_varying, "shared", all_gather_varying_shared, without_memory},
      {Kind::all_gather_varying, "linear", all_gather_linear, never},
      {Kind::all_gather_varying, "ring", all_gather_ring, never},
  };
  return kAll;
}

}  // namespace tabane::comm
