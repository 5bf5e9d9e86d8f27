#include "tabane/comm/collective/board_size.h"

#include <algorithm>
#include <cmath>

namespace tabane::comm {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kMostChunkBytes = 16 * 1024;  // half a first-level cache: written, then read
constexpr std::size_t kLeastChunkBytes = 512;
constexpr std::size_t kMostSlotBytes = 8 * 1024, kLeastSlotBytes = 256;
constexpr std::size_t kAllSlotsBytes = 64 * 1024;

std::size_t whole(std::size_t bytes, std::size_t unit) { return bytes / unit * unit; }

int width_of(int ranks) { return static_cast<int>(std::ceil(std::sqrt(ranks))); }
int leaders_of(int ranks) { return (ranks + width_of(ranks) - 1) / width_of(ranks); }

// All but what lies in chunks and slots.
std::size_t flag_bytes(int ranks) {
  const auto p = static_cast<std::size_t>(ranks),
             leaders = static_cast<std::size_t>(leaders_of(ranks));
  return (2 + 2 * p + 2 * leaders + 2 * p + p + kRingChunks + p) * kLineBytes +
         p * (kCallRecordBytes + kOpenLines * kLineBytes);
}

std::size_t wanted_slot_bytes(int ranks) {
  return std::clamp(whole(kAllSlotsBytes / (2 * static_cast<std::size_t>(ranks)), kLineBytes),
                    kLeastSlotBytes, kMostSlotBytes);
}

std::size_t total_bytes(int ranks, std::size_t chunk_bytes, std::size_t slot_bytes) {
  return flag_bytes(ranks) + kRingChunks * chunk_bytes +
         2 * static_cast<std::size_t>(ranks) * slot_bytes;
}

}  // namespace

// Chunks and slots have their least sizes and share what is left in proportion to what they want.
BoardLayout::BoardLayout(int the_ranks, std::size_t bytes)
    : ranks(the_ranks), width(width_of(the_ranks)), leaders(leaders_of(the_ranks)) {
  const auto p = static_cast<std::size_t>(ranks), l = static_cast<std::size_t>(leaders);
  const std::size_t chunks_want = kRingChunks * (kMostChunkBytes - kLeastChunkBytes);
  const std::size_t slots_want = 2 * p * (wanted_slot_bytes(ranks) - kLeastSlotBytes);
  const std::size_t wanted = chunks_want + slots_want;
  const std::size_t left = std::min(bytes - least_board_bytes(ranks), wanted);
  chunk_bytes = kLeastChunkBytes + whole(left * chunks_want / wanted / kRingChunks, kLineBytes);
  slot_bytes = kLeastSlotBytes + whole(left * slots_want / wanted / (2 * p), kLineBytes);
  lines = 2 * kLineBytes;
  leader_lines = lines + 2 * p * kLineBytes;
  root_lines = leader_lines + 2 * l * kLineBytes;
  consumed = root_lines + 2 * p * kLineBytes;
  chunks = consumed + p * kLineBytes;
  progress = chunks + kRingChunks * (kLineBytes + chunk_bytes);
  slots = progress + p * kLineBytes;
  calls = slots + 2 * p * slot_bytes;
  open_lines = calls + p * kCallRecordBytes;
  end = open_lines + p * kOpenLines * kLineBytes;
}

std::size_t board_bytes(int ranks) {
  if (ranks < 2) return 0;
  return whole(total_bytes(ranks, kMostChunkBytes, wanted_slot_bytes(ranks)) + kPageBytes - 1,
               kPageBytes);
}

std::size_t least_board_bytes(int ranks) {
  return ranks < 2 ? 0 : total_bytes(ranks, kLeastChunkBytes, kLeastSlotBytes);
}

}  // namespace tabane::comm
