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

// values: of this rank, into which all are combined.
Rounds rounds_with_places(const Call& call, std::span<std::byte> values, int ranks) {
  return {.all = {},
          .scratch = std::vector<std::byte>(static_cast<std::size_t>(ranks) * values.size()),
          .values = values,
          .combine = *call.combine,
          .ranks = ranks};
}

// Each rank gets the values of all others and combines them in the order of ranks.
// cost: one round; p - 1 messages of n bytes from each rank.
Rounds all_to_each(const Group& group, const Call& call) {
  const int p = group.size(), self = group.rank();
  Rounds rounds = rounds_with_places(call, call.values, p);
  const std::span<std::byte> places(rounds.scratch);
  const auto place = [&](int rank) {
    return places.subspan(static_cast<std::size_t>(rank) * call.bytes, call.bytes);
  };
  Round& round = rounds.all.emplace_back();
  round.receives.reserve(static_cast<std::size_t>(p));
  round.sends.reserve(static_cast<std::size_t>(p));
  for (int rank = 0; rank < p; ++rank) {
    if (rank == self) continue;
    round.receives.push_back({rank, place(rank)});
    round.sends.push_back({rank, call.values});
  }
  copy_bytes(place(self), call.values);
  round.then = combine_in_order;
  return rounds;
}

// Each rank combines one segment of the values, in the order of ranks, and hands it to all.
// cost: two rounds; 2 (p - 1) messages of n / p bytes from each rank.
Rounds by_segments(const Group& group, const Call& call) {
  const int p = group.size(), self = group.rank();
  const auto part = [&](int rank) {
    const Segment of = segment(call.bytes, call.element.bytes, p, rank);
    return call.values.subspan(of.begin, of.size());
  };
  const std::span<std::byte> own = part(self);
  Rounds rounds = rounds_with_places(call, own, p);
  const std::span<std::byte> places(rounds.scratch);
  rounds.all.resize(2);
  for (int rank = 0; rank < p; ++rank) {
    if (rank == self) continue;
    const auto place = places.subspan(static_cast<std::size_t>(rank) * own.size(), own.size());
    if (!own.empty()) {
      rounds.all[0].receives.push_back({rank, place});
      rounds.all[1].sends.push_back({rank, own});
    }
    if (part(rank).empty()) continue;
    rounds.all[0].sends.push_back({rank, part(rank)});
    rounds.all[1].receives.push_back({rank, part(rank)});
  }
  copy_bytes(places.subspan(static_cast<std::size_t>(self) * own.size(), own.size()), own);
  if (!own.empty()) rounds.all[0].then = combine_in_order;
  return rounds;
}

}  // namespace

// In the order of ranks, ((v0 v1) v2) v3, whatever the size.
Rounds rounds_of_all_reduce(const Group& group, const Call& call) {
  const bool is_small = call.bytes <= kMostBytes && group.size() <= kMostRanks;
  return is_small ? all_to_each(group, call) : by_segments(group, call);
}

}  // namespace tabane::comm
