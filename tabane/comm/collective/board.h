// The shared memory of a group as its collectives use it, seen by one rank. Every part counts its
// uses, on each rank alone: all ranks call the same collectives in the same order, so all count
// alike, and a count in shared memory says which use it belongs to.
#pragma once

#include "tabane/comm/collective/call_records.h"
#include "tabane/comm/collective/chunk_ring.h"
#include "tabane/comm/collective/lines.h"
#include "tabane/comm/collective/slots.h"

namespace tabane::comm {

class SharedBoard {
 public:
  // memory: of least_board_bytes(ranks) or more.
  SharedBoard(int rank, int ranks, GroupMemory& memory)
      : SharedBoard(rank, BoardLayout(ranks, memory.bytes().size()), memory) {}

  Lines lines;
  RootLines root_lines;
  ChunkRing ring;
  Slots slots;
  CallRecords calls;
  OpenLines open_lines;

 private:
  SharedBoard(int rank, const BoardLayout& layout, GroupMemory& memory)
      : lines(memory.bytes().data(), layout, rank, memory),
        root_lines(memory.bytes().data(), layout, rank, memory),
        ring(memory.bytes().data(), layout, rank, memory),
        slots(memory.bytes().data(), layout, rank, memory),
        calls(memory.bytes().data(), layout, rank, memory),
        open_lines(memory.bytes().data(), layout, rank, memory) {}
};

}  // namespace tabane::comm
