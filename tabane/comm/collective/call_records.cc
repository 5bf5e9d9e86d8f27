#include "tabane/comm/collective/call_records.h"

#include <fmt/format.h>

#include <algorithm>

#include "tabane/comm/collective/board.h"
#include "tabane/comm/collective/choice.h"

namespace tabane::comm {
namespace {

// Numbers go round after 2^32 calls.
bool is_after(std::uint32_t number, std::uint32_t other) {
  return static_cast<std::int32_t>(number - other) > 0;
}

}  // namespace

std::string describe(const CallRecord& record) {
  const bool is_known = record.algorithm < algorithms().size();
  const std::string root =
      has_root(record.signature.kind) ? fmt::format(", root {}", record.root) : "";
  const std::string how =
      is_known ? fmt::format("algorithm {}", algorithms()[record.algorithm].name) : "non-blocking";
  const std::string parts =
      record.parts == 0 ? "" : fmt::format(", sizes of parts with hash {:x}", record.parts);
  return fmt::format("{}{}{} (call {} of the group, {})", describe(record.signature), root, parts,
                     record.number(), how);
}

void compare(int rank, const CallRecord& own, int other_rank, const CallRecord& other) {
  CallRecord fitting = other;
  TypeCode& type = fitting.signature.type;
  if (types_fit(own.signature.type, type)) type = own.signature.type;
  if (own == fitting) return;
  throw MessageError("ranks are in different collectives: rank {} calls {}; rank {} calls {}", rank,
                     describe(own), other_rank, describe(other));
}

std::optional<CallRecord> CallRecords::read(int rank, std::uint32_t number) const {
  const RecordedCall& theirs = entry(rank, number);
  if (theirs.number.load(std::memory_order_acquire) != number) return {};
  const Signature signature{theirs.bytes.load(std::memory_order_relaxed),
                            theirs.type.load(std::memory_order_relaxed),
                            theirs.how.load(std::memory_order_relaxed),
                            theirs.kind.load(std::memory_order_relaxed), number};
  const CallRecord record{signature, theirs.root.load(std::memory_order_relaxed),
                          theirs.algorithm.load(std::memory_order_relaxed),
                          theirs.parts.load(std::memory_order_relaxed)};
  std::atomic_thread_fence(std::memory_order_acquire);
  if (theirs.number.load(std::memory_order_relaxed) != number) return {};
  return record;
}

void CallRecords::compare_with_all(const CallRecord& own) const {
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_) continue;
    if (const auto other = read(rank, own.number())) compare(rank_, own, rank, *other);
  }
}

// By what is on record, not by one number for all calls before it: that would be in the future
// after 2^31 calls more.
void CallRecords::forget(std::uint32_t number) {
  for (std::uint32_t slot = 0; slot < kRecordedCalls; ++slot) {
    const std::uint32_t recorded = entry(rank_, slot).number.load(std::memory_order_relaxed);
    if (!is_after(recorded, number)) told_[slot] = recorded;
  }
}

void CallRecords::compare_recorded(const CallRecord& own) const {
  compare_with_all(own);
  for (std::uint32_t back = 1; back < kRecordedCalls; ++back) {
    const std::uint32_t number = own.number() - back;
    if (number == told_[number % kRecordedCalls]) continue;
    if (const auto earlier = read_own(number)) compare_with_all(*earlier);
  }
}

bool CallRecords::has_begun(int rank, std::uint32_t number) const {
  const std::uint32_t seen = entry(rank, number).number.load(std::memory_order_acquire);
  return seen != 0 && !is_after(number, seen);
}

void CallRecords::compare_with_neighbour(std::uint32_t number) {
  memory_->notify(behind());
  memory_->notify(before());  // which may wait in make_room()
  wait_for_flag(*memory_, before(), [&] { return has_begun(before(), number); });
  const auto own = read_own(number), other = read(before(), number);
  if (own && other) compare(rank_, *own, before(), *other);
}

// The rank behind has compared a call before it begins the next one.
void CallRecords::make_room(std::uint32_t number) {
  const std::uint32_t replaced = entry(rank_, number).number.load(std::memory_order_relaxed);
  if (replaced == 0) return;
  const bool is_known = behind_has_begun_ - replaced - 1 <= kRecordedCalls;
  if (behind_has_begun_ != 0 && is_known) return;
  const std::uint32_t needed = std::max(replaced + 1, 1U);  // no call is number 0
  const bool is_close = has_begun(behind(), number - 1);
  if (!is_close) wait_for_flag(*memory_, behind(), [&] { return has_begun(behind(), needed); });
  behind_has_begun_ = is_close ? number - 1 : needed;
}

void Lookout::look(const CallRecord& own) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPeriod{5};
  if (group_.board() == nullptr) return;
  const Clock::time_point now = Clock::now();
  const bool is_first = last_look_ == Clock::time_point{};
  if (!is_first && now - last_look_ < kPeriod) return;
  last_look_ = now;
  const CallRecords& calls = group_.board()->calls;
  if (!is_first) return calls.compare_recorded(own);
  if (!group_.transport().crowded()) calls.compare_with_all(own);
}

void CallWatch::look() {
  group_.board()->open_lines.flush();  // of calls that an exception has passed, too
  if (!number_) return;
  if (const auto own = group_.board()->calls.read_own(*number_)) lookout_.look(*own);
}

}  // namespace tabane::comm
