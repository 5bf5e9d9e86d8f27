// The memory that all ranks of a launch share, and who is alive.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tabane/comm/message.h"
#include "tabane/comm/transport/shm/page_set.h"
#include "tabane/comm/transport/shm/wait.h"
#include "tabane/core/cgroup.h"
#include "tabane/team/fork.h"

namespace tabane::comm {
class Transport;
struct MemoryRequest;
}  // namespace tabane::comm

namespace tabane::comm::shm {

inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::size_t kRecordBytes = 512;  // of one rank, in the head

//   head: who is alive │ channel 1→0 │ 2→0 │ … │ n-2→n-1 │ groups
//   0                  channels_at                       groups_at   total_bytes
//
// Channels to one rank are neighbours: a rank that waits looks at all of them, and so needs few
// page tables for them. (When those from one rank were neighbours, 512 ranks had 1 GiB of page
// tables.)
struct MemoryPlan {
  int ranks = 1;
  std::size_t channel_bytes = 0;  // of one direction of one pair: a multiple of 4 KiB, >= 8 KiB
  std::size_t group_bytes = 0;    // for all groups: a multiple of 4 KiB, >= 4 KiB a rank
  std::size_t channels_at = 0, groups_at = 0, total_bytes = 0;
};

// message_bytes: for all that ranks share; 0: 1 MiB a pair of ranks, but at most 64 MiB. A quarter
// is for groups; a channel takes 512 KiB at most. Where the default leaves channels less than
// 8 KiB, they take 8 KiB, untouched until used.
// throws: core::UsageError if message_bytes is given and too small, with the least.
MemoryPlan plan_memory(int ranks, std::size_t message_bytes);

// What the ranks take at least once each has waited for another, in bytes of memory: a page of each
// channel, and what each process needs. With 64 to 1024 ranks it was 70 to 95 % of what they took.
struct MemoryNeed {
  std::size_t channels = 0, processes = 0;
  std::size_t all() const { return channels + processes; }
};
MemoryNeed least_need(const MemoryPlan& plan);

// throws: core::UsageError with the need, what is free, and how many ranks that holds, where the
// ranks would end in the system's killing them. cost: 50 us for more than some 90 ranks, else none.
void require_memory(const MemoryPlan& plan, const core::SystemFiles& files = core::SystemFiles());

// starting: not in enter() yet. failed: as fail() said, even if the process still runs.
enum class RankState : std::uint32_t { starting, running, returned, failed };

// Made by the launching process before the ranks fork; mapped at the same address in all.
class World {
 public:
  // throws: core::SystemError.
  World(const MemoryPlan& plan, int usable_pus);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  const MemoryPlan& plan() const { return plan_; }
  int ranks() const { return plan_.ranks; }
  bool crowded() const { return crowded_; }  // more ranks than PUs

  // In a rank's process, first and last. Where only ancestors may copy from and to a process's
  // memory (Yama), lets the launching process do so and all that descend from it, as the other
  // ranks do. A process that ends without leave() is noticed only by a rank that waits for it,
  // which calls fail().
  void enter(int rank);
  void leave(int rank);  // after its last call: no more will come from it. Wakes all.

  // --- one rank ---
  pid_t pid(int rank) const;
  RankState state(int rank) const;
  Doorbell& doorbell(int rank);
  Waiter waiter(int rank);
  void set_phase(int rank, const char* text);  // of static storage; null or empty: none
  // Of the library's own, for when there is none of the user's; null: none.
  std::atomic<const char*>& call(int rank);
  std::string phase(int rank) const;  // empty if nothing is known

  // --- failure ---
  // Says that a rank is gone or has thrown; the first one counts, and only its text is kept. Wakes
  // all. how: a sentence's end, "killed by signal 9 (Killed)", cut after 255 bytes.
  // Async-signal-safe; whoever calls it may die meanwhile, if then another one calls it.
  void fail(int rank, pid_t pid, std::string_view how);
  bool failed() const { return failed_rank() >= 0; }
  // The first one; -1: none. cost: a load of a line that all ranks hold and nobody writes until
  // then.
  int failed_rank() const { return head_->failed_rank.load(std::memory_order_relaxed); }
  // throws: core::LostError if a rank other than `self` has failed.
  void check_failed(int self) const {
    if (failed()) [[unlikely]]
      throw_failed_other(self);
  }
  // throws: core::LostError if a rank other than `self` has failed, or if `peer` (any_source: all
  // other ranks) has returned or failed, so that what `self` waits for will never come. ready:
  // looked at once more after peer was seen to have returned.
  template <class Ready>
  void check(int self, int peer, Ready&& ready) {
    check_failed(self);
    if (has_returned(self, peer) && !ready()) throw_returned(self, peer);
  }
  // The same for any of `peers`, `self` perhaps among them, where a peer is any_source.
  template <class Ready>
  void check(int self, std::span<const int> peers, Ready&& ready) {
    check_failed(self);
    for (const int peer : peers) {
      if (peer != self && !has_returned(self, peer)) return;
    }
    if (!ready()) throw_returned(self, any_source);
  }
  // Whether the rank may be in a call: a rank that ended or threw writes to nobody's memory, nor
  // reads it. cost: a system call.
  bool may_be_in_a_call(int rank) const;
  // Of the first failure. Only after failed().
  [[noreturn]] void throw_failed() const;
  // Whether what the first rank threw was a core::UsageError; said before fail().
  void tell_usage_error(int rank);
  bool failed_by_usage() const;

  // Ends all ranks, of which `rank` is this one: the first failure is that it has aborted. Where it
  // is the only one, it is the launching process: throws AbortError.
  [[noreturn]] void abort_job(int rank, int code);
  std::optional<int> abort_code() const;  // of the failed rank, if that has aborted

  // --- memory ---
  // Of the messages from one rank to another one, zero at first. Starts at a page.
  std::span<std::byte> channel(int from, int to);
  // Memory for a group, zero at first, in pages; empty if there is no more, in one piece. Any rank
  // may allocate and any one may release, once, when none uses it any more. Takes no lock; a rank
  // that dies meanwhile may leave pages taken.
  std::span<std::byte> allocate(std::size_t bytes);
  void release(std::span<std::byte> block);
  // Of a block, and back: so one rank tells the others. The same in all ranks.
  std::size_t offset_of(std::span<std::byte> block) const;
  std::span<std::byte> block_at(std::size_t offset, std::size_t bytes);

 private:
  struct Head {
    std::atomic<int> failed_rank{-1};
    // 0: no; else the rank + 1, and the code in the upper half.
    std::atomic<std::uint64_t> aborted{0};
    YieldCosts yield_costs;  // lines of its own
  };
  struct RankRecord;
  RankRecord& record(int rank) const;
  void throw_failed_other(int self) const;
  [[noreturn]] void throw_returned(int self, int peer) const;
  bool has_returned(int self, int peer) const;

  MemoryPlan plan_;
  pid_t launcher_;
  bool crowded_;
  Patience patience_;
  team::SharedBlock block_;
  Head* head_;
  std::byte* ranks_;     // records, kRecordBytes apart
  std::byte* channels_;  // plan_.channel_bytes a pair and direction
  PageSet pages_;        // of the groups' memory
  std::byte* groups_;
};

// The group of all ranks, in the process of one of them after World::enter(). All ranks call it,
// with the same request; it sends messages. world lives longer than all that came of it.
std::unique_ptr<Transport> make_shm_transport(World& world, int rank, const MemoryRequest& request);

}  // namespace tabane::comm::shm
