#include "tabane/comm/collective/algorithm.h"
#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/schedule.h"

namespace tabane::comm {
namespace {

// Each rank shows that it is here and looks at all others.
// cost: a line written and p - 1 read on each rank, all at the same time.
void barrier_flags(Group& group, const Call& call) {
  group.board()->lines.exchange(call, {}, [](int, const std::byte*) {});
}

// All count themselves; the last one releases the others, who look at one line. With more ranks
// than PUs each runs once to come and once to leave, and nobody is woken in vain.
// cost: p atomic additions to one line, one after the other.
void barrier_counter(Group& group, const Call& call) {
  Lines& lines = group.board()->lines;
  const Word word = lines.begin(call);
  lines.wait_for_all(word);
}

// Leaders look at the lines of their ranks, and all look at the leaders' lines.
// cost: 2 sqrt(p) lines read on a leader.
void barrier_two_level(Group& group, const Call& call) {
  Lines& lines = group.board()->lines;
  const Word word = lines.begin(call);
  lines.write(word, {});
  if (lines.is_leader()) {
    for (int rank = lines.rank(); rank < lines.end_of_my_ranks(); ++rank) lines.read(rank, word);
    lines.write_as_leader(word, {});
    lines.notify_all();
  } else {
    lines.notify(lines.my_leader());
  }
  for (int leader = 0; leader < lines.leaders(); ++leader) lines.read_leader(leader, word);
}

// Dissemination: after round k each rank knows of 2^k ranks before it that they are here.
// cost: ceil(log2 p) rounds, an empty message each.
void barrier_messages(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  for (int distance = 1; distance < p; distance *= 2) {
    messages.exchange((self + distance) % p, {}, (self - distance + p) % p, {});
  }
}

void barrier_native(Group& group, const Call&) { native(group).barrier(); }

}  // namespace

// Dissemination, as barrier_messages.
// cost: ceil(log2 p) rounds of one empty message.
void add_barrier(Rounds& rounds, const Group& group) {
  const int p = group.size(), self = group.rank();
  for (int distance = 1; distance < p; distance *= 2) {
    rounds.send((self + distance) % p, {});
    rounds.receive((self + p - distance) % p, {});
    rounds.end_round();
  }
}

std::span<const Algorithm> barrier_algorithms() {
  static constexpr Algorithm kAll[] = {
      {Kind::barrier, "flags", barrier_flags, without_memory, false, true},
      {Kind::barrier, "counter", barrier_counter, without_memory, false, true},
      {Kind::barrier, "two_level", barrier_two_level, without_memory, false, true},
      {Kind::barrier, "messages", barrier_messages, never},
      {Kind::barrier, "native", barrier_native, without_native},
  };
  return kAll;
}

}  // namespace tabane::comm
