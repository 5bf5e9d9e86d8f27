#include <utility>

#include "tabane/comm/collective/algorithm.h"
#include "tabane/comm/collective/board.h"

namespace tabane::comm {
namespace {

// Returns the end of the ranks whose values this one combines, in their order: those before it, and
// in a scan itself. It has shown its own, and overwrites them; those of rank 0 stay in an exscan.
int end_of_prefix(const Call& call, const Group& group) {
  return call.kind == Kind::scan ? group.rank() + 1 : group.rank();
}

// Each rank shows its values in a line, and combines those of the ranks before it. It waits for the
// others, too: see Lines.
// cost: a line written and p - 1 read on each rank, all at the same time.
void scan_flags(Group& group, const Call& call) {
  group.board()->lines.exchange(call, call.values, [&](int rank, const std::byte* values) {
    if (rank < end_of_prefix(call, group)) add_in_order(*call.combine, call.values, rank, values);
  });
}

// Each rank shows its values in its slot, as many as fit, and combines those of the ranks before
// it.
// cost: n bytes copied on each rank; r n bytes read by rank r.
void scan_shared(Group& group, const Call& call) {
  Slots& slots = group.board()->slots;
  for_pieces(slots, call, [&](std::span<std::byte> piece) {
    const auto add = [&](int rank, std::span<const std::byte> slot) {
      add_in_order(*call.combine, piece, rank, slot.data());
    };
    slots.exchange(signature_of(call), piece, end_of_prefix(call, group), add);
  });
}

// Each rank gets what those before it have made of their values, and hands it on with its own.
// cost: p - 1 messages of n bytes one after the other, one to and one from each rank.
void scan_linear(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  if (self == 0) return messages.send(1, call.values);
  const bool is_last = self + 1 == p;
  const std::span<std::byte> scratch = group.scratch(2 * call.bytes);
  const auto before = scratch.first(call.bytes), with_own = scratch.last(call.bytes);
  messages.recv(self - 1, before);
  if (call.kind == Kind::scan || !is_last) {
    copy_bytes(with_own, before);
    call.combine->apply(with_own.data(), call.values.data(),
                        call.bytes / call.combine->element_bytes);
  }
  if (!is_last) messages.send(self + 1, with_own);
  copy_bytes(call.values, call.kind == Kind::scan ? with_own : before);
}

// In round k each rank has the values of itself and up to 2^k - 1 ranks before it; it sends them to
// the one 2^k after it, and puts what comes from 2^k before it in front.
// cost: ceil(log2 p) messages of n bytes to and from each rank; up to 2 n combined for each.
void scan_doubling(Group& group, const Call& call) {
  Messages messages(group, call);
  const int p = group.size(), self = group.rank();
  const std::span<std::byte> scratch = group.scratch(3 * call.bytes);
  std::span<std::byte> sum = scratch.first(call.bytes), theirs = scratch.last(call.bytes);
  const std::span<std::byte> kept = scratch.subspan(call.bytes, call.bytes);
  const std::size_t elements = call.bytes / call.combine->element_bytes;
  copy_bytes(sum, call.values);
  for (int distance = 1; distance < p; distance *= 2) {
    const int to = self + distance, from = self - distance;
    std::unique_ptr<Pending> sent;
    if (to < p) sent = messages.isend(to, sum);
    if (from >= 0) messages.recv(from, theirs);
    if (sent) sent->wait();
    if (from < 0) continue;
    if (call.kind == Kind::exscan) {  // as `sum`, without this rank's own
      copy_bytes(kept, theirs);
      if (distance > 1) call.combine->apply(kept.data(), call.values.data(), elements);
      copy_bytes(call.values, kept);
    }
    call.combine->apply(theirs.data(), sum.data(), elements);
    std::swap(sum, theirs);
  }
  if (call.kind == Kind::scan) copy_bytes(call.values, sum);
}

}  // namespace

std::span<const Algorithm> scan_algorithms() {
  static constexpr Algorithm kAll[] = {
      {Kind::scan, "flags", scan_flags, beyond_a_line, true},
      {Kind::scan, "shared", scan_shared, beyond_a_slot, true},
      {Kind::scan, "linear", scan_linear, never, true},
      {Kind::scan, "doubling", scan_doubling, never},

      {Kind::exscan, "flags", scan_flags, beyond_a_line, true},
      {Kind::exscan, "shared", scan_shared, beyond_a_slot, true},
      {Kind::exscan, "linear", scan_linear, never, true},
      {Kind::exscan, "doubling", scan_doubling, never},
  };
  return kAll;
}

}  // namespace tabane::comm
