// Memory of a rank that others of its group write and read while it is open.
//
// A user first says which window it uses and then looks whether that is open; the owner first
// closes it and then looks who uses it. So one of them sees the other, and no use begins after the
// owner has looked. That takes sequentially consistent stores and loads: with less, both may look
// before the other sees what they have said.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tabane::comm::shm {

// One a rank, in shared memory, zero at first: its own window, and the other's that it uses.
struct alignas(64) Window {
  std::atomic<std::uint64_t> open;  // key of the rank's own window; 0: closed
  std::byte* begin;                 // of the window; while it is open
  std::size_t bytes;                // as begin
  std::atomic<std::uint64_t> used;  // key of the other's window; 0: none

  // --- by the owner ---
  void show(std::uint64_t key, std::span<std::byte> memory) {
    begin = memory.data();
    bytes = memory.size();
    open.store(key, std::memory_order_release);  // with the load in begin_use()
  }
  // Returns the key. No test can see open.exchange, open.load or used.load weaker: the first is
  // a fence on x86 in any order, and the loads are the same instruction.
  std::uint64_t close() { return open.exchange(0, std::memory_order_seq_cst); }
  // Of another rank, after close().
  bool is_using(std::uint64_t key) const { return used.load(std::memory_order_seq_cst) == key; }

  // --- by a user, in its own ---
  // Returns whether `theirs` is open by that key, and remains so until end_use(), which is called
  // in any case.
  bool begin_use(const Window& theirs, std::uint64_t key) {
    used.store(key, std::memory_order_seq_cst);
    return theirs.open.load(std::memory_order_seq_cst) == key;
  }
  void end_use() { used.store(0, std::memory_order_release); }  // with the load in is_using()
};

}  // namespace tabane::comm::shm
