// How much shared memory the collectives of a group use, and what for.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tabane/comm/transport/transport.h"

namespace tabane::comm {

// The size at which GroupMemory::bytes() is of full use: a multiple of 4096; 0 for one rank. With
// less, collectives take smaller pieces.
std::size_t board_bytes(int ranks);
// With less than this they use messages instead.
std::size_t least_board_bytes(int ranks);
// Both, for Transport::make_group().
inline MemoryRequest board_request(int ranks) {
  return {least_board_bytes(ranks), board_bytes(ranks)};
}

inline constexpr std::size_t kLineBytes = 64;
inline constexpr std::size_t kLineValueBytes = 48;  // the largest values that one line carries
inline constexpr int kRingChunks = 4;
inline constexpr std::uint32_t kRecordedCalls = 8;                    // of each rank
inline constexpr std::size_t kCallRecordBytes = kRecordedCalls * 32;  // of each rank
inline constexpr std::uint32_t kOpenLines = 8;                        // of each rank

//   +---------+-------+---------+-------+--------------------+-----------------+-------+-------+
//   | tickets | lines | leader  | root  | ring               | slots           | calls | open  |
//   | release |       | lines   | lines |                    |                 |       | lines |
//   |         | 2 p   | 2 p / w | 2 p   | p counters, chunks | p counters, 2 p | 8 p   | 8 p   |
//   +---------+-------+---------+-------+--------------------+-----------------+-------+-------+
// of p ranks; w: width. Offsets and sizes in bytes, all multiples of a line.
struct BoardLayout {
  // bytes: of the memory, at least least_board_bytes(). The same on all ranks.
  BoardLayout(int ranks, std::size_t bytes);

  int ranks;
  int width;    // ranks that one leader speaks for, in algorithms of two levels
  int leaders;  // ceil(ranks / width)
  std::size_t chunk_bytes, slot_bytes;  // what fits into one
  std::size_t lines, leader_lines, root_lines, consumed, chunks, progress, slots, calls, open_lines,
      end;
};

}  // namespace tabane::comm
