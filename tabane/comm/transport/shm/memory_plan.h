// How the memory that the ranks of a launch share is divided.
#pragma once

#include <cstddef>

#include "tabane/core/cgroup.h"

namespace tabane::comm::shm {

inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::size_t kRecordBytes = 512;  // of one rank, in the head

//   head: who is alive │ channel 1→0 │ 2→0 │ … │ n-2→n-1 │ groups
//   0                  channels_at                       groups_at   total_bytes
//
// Channels to one rank lie together: a rank that waits looks at all of them, and so needs few page
// tables for them. (Where those from one rank lay together, 512 ranks had 1 GiB of page tables.)
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

}  // namespace tabane::comm::shm
