#include "tabane/comm/collective/chunk_ring.h"

#include <algorithm>

#include "tabane/comm/collective/flag_wait.h"

namespace tabane::comm {

ChunkRing::ChunkRing(std::byte* board, const BoardLayout& layout, int rank, GroupMemory& memory)
    : memory_(&memory),
      consumed_(reinterpret_cast<Counter*>(board + layout.consumed)),
      chunks_(board + layout.chunks),
      chunk_bytes_(layout.chunk_bytes),
      ranks_(layout.ranks),
      rank_(rank) {}

std::byte* ChunkRing::place() const {
  return chunks_ + number_ % kRingChunks * (kLineBytes + chunk_bytes_);
}

std::span<std::byte> ChunkRing::begin() {
  ++number_;
  // Its own chunks a root has consumed when it has written them.
  consumed_[rank_].chunks.store(number_, std::memory_order_release);
  if (number_ > kRingChunks && consumed_by_all_ < number_ - kRingChunks) {
    std::uint64_t least = number_;
    for (int rank = 0; rank < ranks_; ++rank) {
      const std::atomic<std::uint64_t>& chunks = consumed_[rank].chunks;
      std::uint64_t seen = 0;
      wait_for_flag(*memory_, rank, [&] {
        seen = chunks.load(std::memory_order_acquire);
        return seen >= number_ - kRingChunks;
      });
      least = std::min(least, seen);
    }
    consumed_by_all_ = least;
  }
  return {place() + kHeadBytes, chunk_bytes_};
}

void ChunkRing::publish(const Signature& signature) {
  head().signature = signature;
  head().number.store(number_, std::memory_order_release);
  memory_->notify_all();
}

std::span<const std::byte> ChunkRing::read(const Signature& signature, int root) {
  ++number_;
  const Head& shown = head();
  wait_for_flag(*memory_, root,
                [&] { return shown.number.load(std::memory_order_acquire) == number_; });
  if (shown.signature != signature) {
    throw_different_calls(rank_, signature, root, shown.signature);
  }
  return {place() + kHeadBytes, chunk_bytes_};
}

// Within a call only its root can wait for this; afterwards any later root.
void ChunkRing::consume(int root, bool last) {
  consumed_[rank_].chunks.store(number_, std::memory_order_release);
  if (last) {
    memory_->notify_all();
  } else {
    memory_->notify(root);
  }
}

}  // namespace tabane::comm
