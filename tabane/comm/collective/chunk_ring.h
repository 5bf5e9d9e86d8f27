// Bytes of a root for all others, in chunks that take turns in a ring of shared memory: the root
// writes one while the others still copy those before.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tabane/comm/collective/board_size.h"
#include "tabane/comm/collective/call.h"
#include "tabane/comm/transport/transport.h"

namespace tabane::comm {

// Every rank counts all chunks, of all roots. Chunk n lies where n - kRingChunks lay; its root
// waits until all have consumed that one, and knows from last time how far they were at least.
// throws: as GroupMemory::wait(); MessageError if the root's call differs.
class ChunkRing {
 public:
  ChunkRing(std::byte* board, const BoardLayout& layout, int rank, GroupMemory& memory);

  std::size_t chunk_bytes() const { return chunk_bytes_; }

  // On the root: returns where the next chunk goes, of chunk_bytes(); then shows it to all.
  std::span<std::byte> begin();
  void publish(const Signature& signature);

  // Elsewhere: returns the next chunk, of chunk_bytes(), once it is there; then gives it back.
  // last: no other chunk of this call follows.
  std::span<const std::byte> read(const Signature& signature, int root);
  void consume(int root, bool last);

 private:
  struct Head {
    std::atomic<std::uint64_t> number;  // of the chunk that lies here, from 1
    Signature signature;
  };
  struct alignas(kLineBytes) Counter {
    std::atomic<std::uint64_t> chunks;
  };
  // What follows on the line of the head: small values come with their flag.
  static constexpr std::size_t kHeadBytes = 32;
  static_assert(sizeof(Head) <= kHeadBytes);

  std::byte* place() const;  // of the current chunk
  Head& head() const { return *reinterpret_cast<Head*>(place()); }

  GroupMemory* memory_;
  Counter* consumed_;  // by rank
  std::byte* chunks_;
  std::size_t chunk_bytes_;
  int ranks_, rank_;
  std::uint64_t number_ = 0;           // of the current chunk
  std::uint64_t consumed_by_all_ = 0;  // at least
};

}  // namespace tabane::comm
