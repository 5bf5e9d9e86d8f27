// What each rank of a group calls, in memory that all of them can look at: so a rank that waits in
// vain finds out whether another one is in a different collective.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "tabane/comm/collective/group.h"
#include "tabane/comm/transport/transport.h"

namespace tabane::comm {

inline constexpr std::uint32_t kRecordedCalls = 8;                    // of each rank
inline constexpr std::size_t kCallRecordBytes = kRecordedCalls * 32;  // of each rank

// All that must be the same on all ranks of one call.
struct CallRecord {
  static constexpr std::uint32_t kNonBlocking = 0xffff'ffff;

  Signature signature;
  std::int32_t root = 0;
  std::uint32_t algorithm = 0;  // index in algorithms(), or kNonBlocking
  std::uint64_t parts = 0;      // where all ranks give the sizes of all parts: their hash
  std::uint32_t number() const { return signature.number; }
  bool operator==(const CallRecord&) const = default;
};
std::string describe(const CallRecord& record);
// throws: MessageError naming both if they differ; bytes fit every type, as in messages.
void compare(int rank, const CallRecord& own, int other_rank, const CallRecord& other);

// The last few calls of each rank. A rank writes to lines of its own that nobody polls, so a call
// costs some stores to its own cache; only a rank that has waited for long, or compares, reads
// others'.
//
// A reader takes the number, then the rest, then the number again; a writer takes the number back
// before it changes the rest. So if the reader sees any of a later call, it also sees that the
// number has changed: the release fence in write() with the acquire fence in read(). And what the
// rank did before its call is seen by whoever sees the number: the release store in write() with
// the acquire loads in read() and has_begun(). No test can see atomic_thread_fence missing or
// weaker: on x86 stores and loads stay in order without an instruction, and ThreadSanitizer knows
// no fences; nor can it, as all of a record is atomic, report a race.
class CallRecords {
 public:
  // at: where they are in the memory.
  CallRecords(GroupMemory& memory, std::size_t at, int rank, int ranks)
      : memory_(&memory),
        entries_(reinterpret_cast<RecordedCall*>(memory.bytes().data() + at)),
        ranks_(ranks),
        rank_(rank) {}

  void write(const CallRecord& own) {
    RecordedCall& mine = entry(rank_, own.number());
    mine.number.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    mine.bytes.store(own.signature.bytes, std::memory_order_relaxed);
    mine.type.store(own.signature.type, std::memory_order_relaxed);
    mine.how.store(own.signature.how, std::memory_order_relaxed);
    mine.kind.store(own.signature.kind, std::memory_order_relaxed);
    mine.root.store(own.root, std::memory_order_relaxed);
    mine.algorithm.store(own.algorithm, std::memory_order_relaxed);
    mine.parts.store(own.parts, std::memory_order_relaxed);
    mine.number.store(own.number(), std::memory_order_release);
  }
  // Returns nothing if that rank has not begun that call yet, or is far ahead.
  std::optional<CallRecord> read(int rank, std::uint32_t number) const;
  // Of this rank; nothing if kRecordedCalls later ones have begun.
  std::optional<CallRecord> read_own(std::uint32_t number) const { return read(rank_, number); }
  // throws: MessageError if one of the others is known to differ from this rank's call; as the next
  // one.
  void compare_with_all(const CallRecord& own) const;
  // The same for the calls before it, too, as far as both sides have them.
  void compare_recorded(const CallRecord& own) const;
  // A difference in this call or before it has been reported, or will be: later calls do not report
  // it again.
  void forget(std::uint32_t number);

  // For groups that compare each call: waits until the rank before this one has begun the call, and
  // compares. throws: MessageError; as GroupMemory::wait().
  void compare_with_neighbour(std::uint32_t number);
  // Before write(): waits until the rank behind this one needs the record no more that it replaces.
  void make_room(std::uint32_t number);
  // All ranks are known to have begun that call.
  void all_have_begun(std::uint32_t number) { behind_has_begun_ = number; }

 private:
  struct RecordedCall {
    std::atomic<std::uint64_t> bytes;
    std::atomic<TypeCode> type;
    std::atomic<std::uint8_t> how;
    std::atomic<Kind> kind;
    std::atomic<std::int32_t> root;
    std::atomic<std::uint32_t> algorithm, number;  // 0 while it is written
    std::atomic<std::uint64_t> parts;
  };
  static_assert(sizeof(RecordedCall) * kRecordedCalls == kCallRecordBytes);

  RecordedCall& entry(int rank, std::uint32_t number) const {
    return entries_[static_cast<std::uint32_t>(rank) * kRecordedCalls + number % kRecordedCalls];
  }
  bool has_begun(int rank, std::uint32_t number) const;
  int before() const { return (rank_ + ranks_ - 1) % ranks_; }
  int behind() const { return (rank_ + 1) % ranks_; }

  GroupMemory* memory_;
  RecordedCall* entries_;
  int ranks_, rank_;
  std::uint32_t behind_has_begun_ = 0;                   // 0: not known
  std::array<std::uint32_t, kRecordedCalls> told_ = {};  // numbers, where their records are
};

// Looks at what the others call while this rank waits in a call: at first, and then every few
// milliseconds, so that it costs nothing worth counting. Ranks that take turns on a PU wait in each
// call, so they leave out the first look.
class Lookout {
 public:
  // A group without a board has nothing to look at.
  explicit Lookout(const Group& group) : group_(group) {}
  // Before the rank yields or sleeps in its call. throws: MessageError if a rank is in another one.
  void look(const CallRecord& own);
  // The next look is the first one of a call.
  void restart() { last_look_ = {}; }

 private:
  const Group& group_;
  std::chrono::steady_clock::time_point last_look_{};
};

// Looks while the rank is in a blocking call of the group. One a group, enlisted for good: a call
// that need not wait pays some stores for it.
class CallWatch final : public Background {
 public:
  explicit CallWatch(const Group& group) : group_(group), lookout_(group) {}
  void begin(std::uint32_t number) {
    number_ = number;
    lookout_.restart();
  }
  void end() { number_.reset(); }

  bool progresses() const override { return false; }
  void look() override;

 private:
  const Group& group_;
  Lookout lookout_;
  std::optional<std::uint32_t> number_;  // of the call that the rank is in
};

}  // namespace tabane::comm
