#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/schedule.h"

namespace tabane::comm {
namespace {

// Up to here each rank sends all of its values to all others.
constexpr std::size_t kMostBytes = 4096;
constexpr int kMostRanks = 16;

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
  const auto part = [&](int rank) {
    const Segment of = segment(call.bytes, call.element.bytes, p, rank);
    return call.values.subspan(of.begin, of.size());
  };
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
  const bool is_small = call.bytes <= kMostBytes && group.size() <= kMostRanks;
  is_small ? add_all_to_each(rounds, group, call) : add_by_segments(rounds, group, call);
}

}  // namespace tabane::comm
