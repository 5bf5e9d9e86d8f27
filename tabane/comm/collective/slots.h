// Bytes of each rank for one or all others, in shared memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "tabane/comm/collective/board_size.h"
#include "tabane/comm/collective/call.h"
#include "tabane/comm/transport/transport.h"

namespace tabane::comm {

// All ranks go through the same steps: begin(), write, publish(); readers then call read() and
// end(). Each rank has two slots and takes them in turn: before it writes one again, it waits for
// the ranks that read it two steps ago. throws: as GroupMemory::wait(); MessageError if the other
// rank's call differs.
class Slots {
 public:
  Slots(std::byte* board, const BoardLayout& layout, int rank, GroupMemory& memory);

  std::size_t slot_bytes() const { return slot_bytes_; }

  // Returns this rank's slot. reader: the only rank that will read it, or any_source for all.
  std::span<std::byte> begin(int reader);
  void publish(const Signature& signature);
  // Returns another rank's slot, once it is published.
  std::span<const std::byte> read(int rank, const Signature& signature);
  void end();  // after reading

 private:
  // count: 2 n once step n is published, 2 n + 1 once this rank has read what it wanted in it.
  struct alignas(kLineBytes) Progress {
    std::atomic<std::uint64_t> count;
    std::array<Signature, 2> signatures;  // by parity of the step
  };
  static constexpr int kNobody = -2;

  std::byte* slot(int rank) const;
  void wait_for(int rank, std::uint64_t count);

  GroupMemory* memory_;
  Progress* progress_;  // by rank
  std::byte* slots_;
  std::size_t slot_bytes_;
  int ranks_, rank_;
  std::uint64_t step_ = 0;
  std::array<int, 2> reader_{kNobody, kNobody};  // of this rank's slot, by parity of the step
};

}  // namespace tabane::comm
