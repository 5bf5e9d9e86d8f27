// How the memory that the ranks of a launch share is divided.
#pragma once

#include <cstddef>

namespace tabane::comm::shm {

inline constexpr std::size_t kPageBytes = 4096;
inline constexpr std::size_t kRecordBytes = 512;  // of one rank, in the head

//   head: who is alive │ channel 0→1 │ 0→2 │ … │ n-1→n-2 │ groups
//   0                  channels_at                       groups_at   total_bytes
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

}  // namespace tabane::comm::shm
