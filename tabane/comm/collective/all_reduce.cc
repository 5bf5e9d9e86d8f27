#include <array>

#include "tabane/comm/collective/algorithm.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/schedule.h"

namespace tabane::comm {
namespace {

// Each rank shows its values in a line, and combines those of all.
// cost: a line written and p - 1 read on each rank, all at the same time.
void all_reduce_flags(Group& group, const Call& call) {
  group.board()->lines.exchange(call, call.values, [&](int rank, const std::byte* values) {
    add_in_order(*call.combine, call.values, rank, values);
  });
}

// Each rank shows its values in a line; the last one to come combines all and shows the result.
// With more ranks than PUs each runs once to come and once to leave.
// cost: p atomic additions to one line, and p - 1 lines read by one rank.
void all_reduce_counter(Group& group, const Call& call) {
  Lines& lines = group.board()->lines;
  const Word word = lines.begin(call);
  lines.write(word, call.values);
  if (!lines.is_last()) return copy_bytes(call.values, {lines.read_release(word), call.bytes});
  for (int rank = 0; rank < lines.ranks(); ++rank) {
    add_in_order(*call.combine, call.values, rank, lines.read(rank, word));
  }
  lines.write_release(word, call.values);
  lines.notify_all();
}

// Leaders combine the lines of their ranks, and all combine the lines of the leaders.
// cost: 2 sqrt(p) lines read by a leader, sqrt(p) by the others.
void all_reduce_two_level(Group& group, const Call& call) {
  Lines& lines = group.board()->lines;
  const Word word = lines.begin(call);
  lines.write(word, call.values);
  const std::size_t elements = call.bytes / call.combine->element_bytes;
  alignas(kLineBytes) std::array<std::byte, kLineValueBytes> buffer;
  const std::span<std::byte> sum = std::span(buffer).first(call.bytes);
  if (lines.is_leader()) {
    copy_bytes(sum, call.values);
    for (int rank = lines.rank() + 1; rank < lines.end_of_my_ranks(); ++rank) {
      call.combine->apply(sum.data(), lines.read(rank, word), elements);
    }
    lines.write_as_leader(word, sum);
    lines.notify_all();
  } else {
    lines.notify(lines.my_leader());
  }
  copy_bytes(sum, {lines.read_leader(0, word), call.bytes});
  for (int leader = 1; leader < lines.leaders(); ++leader) {
    call.combine->apply(sum.data(), lines.read_leader(leader, word), elements);
  }
  copy_bytes(call.values, sum);
}

// Each rank shows its values in its slot, as many as fit, combines its share of them in the order
// of ranks, and shows that; all copy the shares.
// cost: n (1 + 1 / p) bytes written and 2 n read on each rank; two steps of all ranks a slot.
void all_reduce_shared(Group& group, const Call& call) {
  Slots& slots = group.board()->slots;
  const Signature signature = signature_of(call);
  const int p = group.size();
  for_pieces(slots, call, [&](std::span<std::byte> piece) {
    const auto share_of = [&](int rank) {
      return segment_of(piece, call.combine->element_bytes, p, rank);
    };
    const std::span<std::byte> own = share_of(group.rank());
    const auto at = static_cast<std::size_t>(own.data() - piece.data());
    slots.exchange(signature, piece, p, [&](int rank, std::span<const std::byte> slot) {
      add_in_order(*call.combine, own, rank, slot.data() + at);
    });
    slots.exchange(signature, own, p, [&](int rank, std::span<const std::byte> slot) {
      copy_bytes(share_of(rank), slot.first(share_of(rank).size()));
    });
  });
}

// The root, rank 0, receives from all and sends to all.
// cost: 2 (p - 1) messages of n bytes.
void all_reduce_linear(Group& group, const Call& call) {
  reduce_linear(group, call);
  Messages messages(group, call);
  if (group.rank() != 0) return messages.recv(0, call.values);
  wait_all(messages.isend_to_others([&](int) { return call.values; }));
}

// A tree to rank 0, and the broadcast that the rules choose.
// cost: ceil(log2 p) messages of n bytes one after the other, and a broadcast.
void all_reduce_tree(Group& group, const Call& call) {
  reduce_tree(group, call);
  run_within(group, {.kind = Kind::broadcast,
                     .element = call.element,
                     .bytes = call.bytes,
                     .number = call.number,
                     .values = call.values});
}

// values = lower ∘ upper, where `theirs` is of the lower or the upper ranks.
void combine(const Call& call, std::span<std::byte> theirs, bool theirs_are_lower) {
  const std::size_t elements = call.bytes / call.combine->element_bytes;
  if (!theirs_are_lower) {
    call.combine->apply(call.values.data(), theirs.data(), elements);
    return;
  }
  call.combine->apply(theirs.data(), call.values.data(), elements);
  copy_bytes(call.values, theirs);
}

// In round k each rank and the one 2^k away exchange what they have and combine it in the same
// order, so that both have the same bits. Where p is no power of two, the first ranks form pairs
// that are one rank in the rounds.
// cost: floor(log2 p) exchanges of n bytes, and two messages more if p is no power of two.
void all_reduce_recursive_doubling(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  int players = 1;
  while (2 * players <= p) players *= 2;
  const int pairs = p - players;
  const std::span<std::byte> theirs = group.scratch(call.bytes);
  if (self < 2 * pairs && self % 2 == 1) {
    messages.send(self - 1, call.values);
    return messages.recv(self - 1, call.values);
  }
  if (self < 2 * pairs) {
    messages.recv(self + 1, theirs);
    combine(call, theirs, false);
  }
  const int player = self < 2 * pairs ? self / 2 : self - pairs;
  for (int distance = 1; distance < players; distance *= 2) {
    const int other = player ^ distance;
    const int other_rank = other < pairs ? 2 * other : other + pairs;
    messages.exchange(other_rank, call.values, other_rank, theirs);
    combine(call, theirs, other < player);
  }
  if (self < 2 * pairs) messages.send(self + 1, call.values);
}

// Each rank gets its segment from all others, combines it, and then the segments go round the ring.
// cost: 2 (p - 1) messages of n / p bytes, n / p combined on each rank; n bytes of scratch.
void all_reduce_reduce_scatter(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  const auto values_of = [&](int rank) {
    return segment_of(call.values, call.element.bytes, p, rank);
  };
  const std::span<std::byte> mine = values_of(self);
  const std::span<std::byte> scratch = group.scratch(mine.size() * static_cast<std::size_t>(p));
  const auto from_rank = [&](int rank) {
    return scratch.subspan(static_cast<std::size_t>(rank) * mine.size(), mine.size());
  };
  copy_bytes(from_rank(self), mine);
  messages.exchange_in_turn(values_of, from_rank);
  for (int rank = 1; rank < p; ++rank) {
    call.combine->apply(scratch.data(), from_rank(rank).data(),
                        mine.size() / call.combine->element_bytes);
  }
  copy_bytes(mine, scratch.first(mine.size()));
  messages.pass_round(values_of);
}

void all_reduce_native(Group& group, const Call& call) {
  if (!native(group).all_reduce(call.values, *call.combine)) all_reduce_tree(group, call);
}

// --- the form that does not block ---

// Up to here each rank sends all of its values to all others.
constexpr std::size_t kMostBytesAtOnce = 4096;
constexpr int kMostRanksAtOnce = 16;

// Combines what the scratch has of all ranks, one after the other, into the values.
void combine_in_order(Rounds& rounds) {
  const std::size_t bytes = rounds.values.size();
  std::byte* const first = rounds.scratch.data();
  for (int rank = 1; rank < rounds.ranks; ++rank) {
    rounds.combine.apply(first, first + static_cast<std::size_t>(rank) * bytes,
                         bytes / rounds.combine.element_bytes);
  }
  copy_bytes(rounds.values, std::span(rounds.scratch).first(bytes));
}

// Places in the scratch for the values of all ranks that are combined into these.
auto places_of(Rounds& rounds, std::span<std::byte> values) {
  rounds.values = values;
  rounds.scratch.resize(static_cast<std::size_t>(rounds.ranks) * values.size());
  return [&rounds, size = values.size()](int rank) {
    return std::span(rounds.scratch).subspan(static_cast<std::size_t>(rank) * size, size);
  };
}

// Each rank gets the values of all others and combines them in the order of ranks.
// cost: one round; p - 1 messages of n bytes from each rank.
void add_all_to_each(Rounds& rounds, const Group& group, const Call& call) {
  const int p = group.size(), self = group.rank();
  const auto place = places_of(rounds, call.values);
  for (int rank = 0; rank < p; ++rank) {
    if (rank == self) continue;
    rounds.receive(rank, place(rank));
    rounds.send(rank, call.values);
  }
  copy_bytes(place(self), call.values);
  rounds.end_round(combine_in_order);
}

// Each rank combines one segment of the values, in the order of ranks, and hands it to all.
// cost: two rounds; 2 (p - 1) messages of n / p bytes from each rank.
void add_by_segments(Rounds& rounds, const Group& group, const Call& call) {
  const int p = group.size(), self = group.rank();
  const auto part = [&](int rank) { return segment_of(call.values, call.element.bytes, p, rank); };
  const std::span<std::byte> own = part(self);
  const auto place = places_of(rounds, own);
  for (int rank = 0; rank < p; ++rank) {
    if (rank == self) continue;
    if (!own.empty()) rounds.receive(rank, place(rank));
    if (!part(rank).empty()) rounds.send(rank, part(rank));
  }
  copy_bytes(place(self), own);
  rounds.end_round(own.empty() ? nullptr : combine_in_order);
  for (int rank = 0; rank < p; ++rank) {
    if (rank == self) continue;
    if (!own.empty()) rounds.send(rank, own);
    if (!part(rank).empty()) rounds.receive(rank, part(rank));
  }
  rounds.end_round();
}

}  // namespace

// In the order of ranks, ((v0 v1) v2) v3, whatever the size.
void add_all_reduce(Rounds& rounds, const Group& group, const Call& call) {
  const bool is_small = call.bytes <= kMostBytesAtOnce && group.size() <= kMostRanksAtOnce;
  is_small ? add_all_to_each(rounds, group, call) : add_by_segments(rounds, group, call);
}

std::span<const Algorithm> all_reduce_algorithms() {
  static constexpr Algorithm kAll[] = {
      {Kind::all_reduce, "flags", all_reduce_flags, beyond_a_line, true, true},
      {Kind::all_reduce, "counter", all_reduce_counter, beyond_a_line, true, true},
      {Kind::all_reduce, "two_level", all_reduce_two_level, beyond_a_line, false, true},
      {Kind::all_reduce, "shared", all_reduce_shared, beyond_a_slot, true},
      {Kind::all_reduce, "linear", all_reduce_linear, never, true},
      {Kind::all_reduce, "tree", all_reduce_tree, never},
      {Kind::all_reduce, "recursive_doubling", all_reduce_recursive_doubling, never},
      {Kind::all_reduce, "reduce_scatter", all_reduce_reduce_scatter, never, true},
      {Kind::all_reduce, "native", all_reduce_native, without_native_reduction},
  };
  return kAll;
}

}  // namespace tabane::comm
