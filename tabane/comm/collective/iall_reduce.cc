#include "tabane/comm/collective/layout.h"
#include "tabane/comm/collective/schedule.h"

namespace tabane::comm {
namespace {

// Up to here each rank sends all of its values to all others.
constexpr std::size_t kMostBytes = 4096;
constexpr int kMostRanks = 16;

// values: of this rank; places: of all ranks one after the other, into which all are combined.
void combine_in_order(const Call& call, std::span<std::byte> places, int ranks) {
  const std::size_t bytes = places.size() / static_cast<std::size_t>(ranks);
  for (int rank = 1; rank < ranks; ++rank) {
    call.combine->apply(places.data(), places.data() + static_cast<std::size_t>(rank) * bytes,
                        bytes / call.element.bytes);
  }
}

// Each rank gets the values of all others and combines them in the order of ranks.
// cost: one round; p - 1 messages of n bytes from each rank.
Rounds all_to_each(const Group& group, const Call& call) {
  const int p = group.size(), self = group.rank();
  Rounds rounds;
  rounds.scratch.resize(static_cast<std::size_t>(p) * call.bytes);
  const std::span<std::byte> places(rounds.scratch);
  const auto place = [&](int rank) {
    return places.subspan(static_cast<std::size_t>(rank) * call.bytes, call.bytes);
  };
  Round& round = rounds.all.emplace_back();
  for (int rank = 0; rank < p; ++rank) {
    if (rank == self) continue;
    round.receives.push_back({rank, place(rank)});
    round.sends.push_back({rank, call.values});
  }
  copy_bytes(place(self), call.values);
  round.then = [copy = call, combine = *call.combine, places, p]() mutable {
    copy.combine = &combine;
    combine_in_order(copy, places, p);
    copy_bytes(copy.values, places.first(copy.bytes));
  };
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
  Rounds rounds;
  rounds.scratch.resize(static_cast<std::size_t>(p) * own.size());
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
  rounds.all[0].then = [copy = call, combine = *call.combine, places, own, p]() mutable {
    if (own.empty()) return;
    copy.combine = &combine;
    combine_in_order(copy, places, p);
    copy_bytes(own, places.first(own.size()));
  };
  return rounds;
}

}  // namespace

// In the order of ranks, ((v0 v1) v2) v3, whatever the size.
Rounds rounds_of_all_reduce(const Group& group, const Call& call) {
  const bool is_small = call.bytes <= kMostBytes && group.size() <= kMostRanks;
  return is_small ? all_to_each(group, call) : by_segments(group, call);
}

}  // namespace tabane::comm
