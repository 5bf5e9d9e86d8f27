// The shared memory of a group as its collectives use it, seen by one rank. Every part counts its
// uses, on each rank alone: all ranks call the same collectives in the same order, so all count
// alike, and a count in shared memory says which use it belongs to.
//
// What one rank stores with release, the others load with acquire:
//
//   word             put()                 has_come()          the line is written
//                                          RootLines::begin(), OpenLines::has_line()
//                                                              its writer has read those before
//   tickets          is_last()             is_last()           of all ranks, so it does both
//   ChunkHead number publish()             read()              the chunk is written
//   chunks           consume(), publish()  ChunkRing::begin()  it has been read, or written
//   count            publish(), end()      wait_for()          the slot is written; has been read
//
// What is looked at again after that is relaxed.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tabane/comm/collective/call_records.h"
#include "tabane/comm/collective/group.h"
#include "tabane/comm/transport/transport.h"

namespace tabane::comm {

inline constexpr std::size_t kLineBytes = 64;
inline constexpr std::size_t kLineValueBytes = 48;  // the largest values that one line carries
inline constexpr std::uint32_t kOpenLines = 8;      // of each rank
inline constexpr int kRingChunks = 4;

//   +---------+-------+---------+-------+--------------------+-----------------+-------+-------+
//   | tickets | lines | leader  | root  | ring               | slots           | calls | open  |
//   | release |       | lines   | lines |                    |                 |       | lines |
//   |         | 2 p   | 2 p / w | 2 p   | p counters, chunks | p counters, 2 p | 8 p   | 8 p   |
//   +---------+-------+---------+-------+--------------------+-----------------+-------+-------+
// of p ranks; w: width. Offsets and sizes in bytes, all multiples of a line.
struct BoardLayout {
  // With chunks and slots of those sizes; or with those that fill the memory of `bytes` bytes, at
  // least least_board_bytes(). The same on all ranks.
  BoardLayout(int ranks, std::size_t chunk_bytes, std::size_t slot_bytes);
  BoardLayout(int ranks, std::size_t bytes);

  int ranks;
  int width;    // ranks that one leader speaks for, in algorithms of two levels
  int leaders;  // ceil(ranks / width)
  std::size_t chunk_bytes, slot_bytes;  // what fits into one
  std::size_t lines, leader_lines, root_lines, consumed, chunks, progress, slots, calls, open_lines,
      end;
};

// Returns once ready() is true, which rank `peer` (any_source: any) brings about; at once and
// without more than the look if it is true already.
template <class Ready>
void wait_for_flag(GroupMemory& memory, int peer, const Ready& ready) {
  if (!ready()) memory.wait(peer, [&ready] { return ready(); });
}

// What each part of a board knows.
class BoardPart {
 public:
  BoardPart(int rank, int ranks, GroupMemory& memory)
      : memory_(&memory), ranks_(ranks), rank_(rank) {}
  int ranks() const { return ranks_; }
  int rank() const { return rank_; }

 protected:
  template <class T>
  T* at(std::size_t offset) const {
    return reinterpret_cast<T*>(memory_->bytes().data() + offset);
  }

  GroupMemory* memory_;
  int ranks_, rank_;
};

// --- lines: values of a few bytes that go from rank to rank in one cache line, with their flag ---

// The number of a use in the upper half, a digest of the call's signature in the lower one: what
// shows that a line has come shows also whether it is of the same call.
using Word = std::uint64_t;

struct alignas(kLineBytes) BoardLine {
  std::atomic<Word> word;
  std::uint64_t call;                 // its number
  std::byte values[kLineValueBytes];  // aligned for every type
};
static_assert(sizeof(BoardLine) == kLineBytes);

// Lines of all ranks for all ranks. Each rank has two and takes them in turn: when it writes one
// again, it has seen all others in the use between, so they are done with the one before. Every use
// must therefore end only when all ranks have begun it.
// throws: as GroupMemory::wait(); MessageError if the other rank's call differs.
class Lines : public BoardPart {
 public:
  Lines(const BoardPart& board, const BoardLayout& layout);

  // Begins a use.
  Word begin(const Call& call);
  // Shows this rank's line to the others. They may sleep until notify_all().
  void write(Word word, std::span<const std::byte> values);
  // Both, and wakes the others. all_come: returns when all have called it, so that with more ranks
  // than PUs each runs once to come and once to leave.
  Word show(const Call& call, std::span<const std::byte> values, bool all_come = false);
  // Returns the values of rank's line, once they are there.
  const std::byte* read(int rank, Word word);
  // A whole use: show(), and f(rank, values) for all ranks in their order.
  template <class F>
  void exchange(const Call& call, std::span<const std::byte> values, F&& f, bool all_come = false) {
    const Word word = show(call, values, all_come);
    for (int rank = 0; rank < ranks_; ++rank) f(rank, read(rank, word));
  }

  // The same for leaders, each of which speaks for some ranks from its own on.
  int leaders() const { return leaders_; }
  int my_leader() const { return rank_ / width_ * width_; }
  bool is_leader() const { return rank_ % width_ == 0; }
  int end_of_my_ranks() const { return std::min(ranks_, my_leader() + width_); }
  void write_as_leader(Word word, std::span<const std::byte> values);
  const std::byte* read_leader(int leader, Word word);

  // Instead of waiting for each rank: the last one to come releases all others.
  bool is_last();
  void write_release(Word word, std::span<const std::byte> values);
  const std::byte* read_release(Word word);
  // Returns when all ranks have called it; the last one releases the others.
  void wait_for_all(Word word);

  void notify(int rank) { memory_->notify(rank); }
  void notify_all() { memory_->notify_all(); }

 private:
  const std::byte* wait(int peer, const BoardLine& line, Word word);

  std::atomic<std::uint64_t>* tickets_;
  BoardLine *release_, *lines_, *leader_lines_;
  int width_, leaders_;
  std::uint32_t uses_ = 0, call_ = 0;  // and the number of the call under way
  std::uint64_t ticket_uses_ = 0;
};

// Lines of all ranks for one of them, the root: the others need not wait for each other.
class RootLines : BoardPart {
 public:
  RootLines(const BoardPart& board, const BoardLayout& layout)
      : BoardPart(board), lines_(at<BoardLine>(layout.root_lines)) {}

  // Begins a use. Waits until the root of the use before the last has read its lines, which are
  // where this use's will be.
  Word begin(const Call& call);
  void write(Word word, int root, std::span<const std::byte> values);
  const std::byte* read(int rank, Word word);
  void end(Word word);  // on the root, when it has read all
  // A whole use: each rank shows its values to the root of the call, which calls f(rank, values)
  // for all ranks in their order.
  template <class F>
  void collect(const Call& call, std::span<const std::byte> values, F&& f) {
    const Word word = begin(call);
    if (rank_ != call.root) return write(word, call.root, values);
    for (int rank = 0; rank < ranks_; ++rank) {
      f(rank, rank == rank_ ? values.data() : read(rank, word));
    }
    end(word);
  }

 private:
  BoardLine& line(int rank, std::uint32_t use) const {
    return lines_[2 * rank + static_cast<int>(use & 1)];
  }

  BoardLine* lines_;
  std::uint32_t uses_ = 0, call_ = 0;
  std::array<int, 2> root_of_{any_source, any_source};  // by parity of the use; any_source: none
};

// Lines of all ranks for all ranks, for calls that do not block: several uses are open at once. A
// rank takes a line again when all ranks have begun the use that is half of the lines older, and it
// has ended that one itself, as all did before they began it with the line's last use. What finds
// no line waits on its rank.
class OpenLines : BoardPart {
 public:
  OpenLines(const BoardPart& board, const BoardLayout& layout)
      : BoardPart(board), lines_(at<BoardLine>(layout.open_lines)) {}

  // Begins a use. The other ranks see the values when there is a line for them: now, or in flush().
  Word begin(const Call& call);
  void flush() {
    if (!waiting_.empty()) write_waiting();
  }
  bool is_written(Word word) const;
  // Returns the values of rank's line, null if they are not there yet. number: of the call. throws:
  // MessageError if the other rank's call differs.
  const std::byte* look(int rank, Word word, std::uint32_t number) const;
  void end(Word word);  // this rank reads no line of the use any more

 private:
  struct Waiting {
    Word word;
    std::uint32_t number;
    bool is_open;
    std::size_t bytes;
    std::array<std::byte, kLineValueBytes> values;
  };

  BoardLine& line(int rank, std::uint32_t use) const {
    return lines_[static_cast<std::uint32_t>(rank) * kOpenLines + use % kOpenLines];
  }
  bool has_line(std::uint32_t use) const;
  void write(Word word, std::uint32_t number, bool is_open, std::span<const std::byte> values);
  void write_waiting();

  BoardLine* lines_;
  std::uint32_t uses_ = 0, written_ = 0;
  std::array<bool, kOpenLines> open_{};  // of those written, by use
  std::vector<Waiting> waiting_;         // the uses after written_
};

// --- pieces of larger values ---

// Bytes of a root for all others, in chunks that take turns in a ring: the root writes one while
// the others still copy those before. Every rank counts all chunks, of all roots. Chunk n is
// where n - kRingChunks lay; its root waits until all have consumed that one, and knows from last
// time how far they were at least. throws: as GroupMemory::wait(); MessageError if the root's call
// differs.
class ChunkRing : BoardPart {
 public:
  ChunkRing(const BoardPart& board, const BoardLayout& layout)
      : BoardPart(board),
        consumed_(at<ConsumedChunks>(layout.consumed)),
        chunks_(at<std::byte>(layout.chunks)),
        chunk_bytes_(layout.chunk_bytes) {}

  std::size_t chunk_bytes() const { return chunk_bytes_; }

  // On the root: returns where the next chunk goes, of chunk_bytes(); then shows it to all.
  std::span<std::byte> begin();
  void publish(const Signature& signature);

  // Elsewhere: returns the next chunk, of chunk_bytes(), once it is there; then gives it back.
  // last: no other chunk of this call follows.
  std::span<const std::byte> read(const Signature& signature, int root);
  void consume(int root, bool last);

 private:
  struct ChunkHead {
    std::atomic<std::uint64_t> number;  // of the chunk here, from 1
    Signature signature;
  };
  struct alignas(kLineBytes) ConsumedChunks {
    std::atomic<std::uint64_t> chunks;
  };
  // What follows on the line of the head: small values come with their flag.
  static constexpr std::size_t kHeadBytes = 32;
  static_assert(sizeof(ChunkHead) <= kHeadBytes);

  std::byte* place() const {  // of the current chunk
    return chunks_ + number_ % kRingChunks * (kLineBytes + chunk_bytes_);
  }
  ChunkHead& head() const { return *reinterpret_cast<ChunkHead*>(place()); }

  ConsumedChunks* consumed_;  // by rank
  std::byte* chunks_;
  std::size_t chunk_bytes_;
  std::uint64_t number_ = 0;           // of the current chunk
  std::uint64_t consumed_by_all_ = 0;  // at least
};

// Bytes of each rank for one or all others.
// All ranks go through the same steps: begin(), write, publish(); readers then call read() and
// end(). Each rank has two slots and takes them in turn: before it writes one again, it waits for
// the ranks that read it two steps ago. throws: as GroupMemory::wait(); MessageError if the other
// rank's call differs.
class Slots : BoardPart {
 public:
  Slots(const BoardPart& board, const BoardLayout& layout)
      : BoardPart(board),
        progress_(at<SlotProgress>(layout.progress)),
        slots_(at<std::byte>(layout.slots)),
        slot_bytes_(layout.slot_bytes) {}

  std::size_t slot_bytes() const { return slot_bytes_; }

  // Returns this rank's slot. reader: the only rank that will read it, or any_source for all.
  std::span<std::byte> begin(int reader);
  void publish(const Signature& signature);
  // A whole step: shows these bytes to all, and calls f(rank, slot) for all ranks before `end_rank`
  // in their order.
  template <class F>
  void exchange(const Signature& signature, std::span<const std::byte> bytes, int end_rank, F&& f) {
    std::ranges::copy(bytes, begin(any_source).begin());
    publish(signature);
    for (int rank = 0; rank < end_rank; ++rank) f(rank, read(rank, signature));
    end();
  }
  // Returns another rank's slot, once it is published.
  std::span<const std::byte> read(int rank, const Signature& signature);
  void end();  // after reading

 private:
  // count: 2 n once step n is published, 2 n + 1 once this rank has read what it wanted in it.
  struct alignas(kLineBytes) SlotProgress {
    std::atomic<std::uint64_t> count;
    std::array<Signature, 2> signatures;  // by parity of the step
  };
  static constexpr int kNobody = -2;

  std::byte* slot(int rank) const {
    return slots_ + (2 * static_cast<std::size_t>(rank) + (step_ & 1)) * slot_bytes_;
  }
  void wait_for(int rank, std::uint64_t count);

  SlotProgress* progress_;  // by rank
  std::byte* slots_;
  std::size_t slot_bytes_;
  std::uint64_t step_ = 0;
  std::array<int, 2> reader_{kNobody, kNobody};  // of this rank's slot, by parity of the step
};

// Calls f(begin, bytes) for each piece of `bytes` bytes, as many whole elements as `room` holds.
template <class F>
void for_pieces(std::size_t bytes, std::size_t room, std::size_t element_bytes, F&& f) {
  const std::size_t most = room / element_bytes * element_bytes;
  for (std::size_t begin = 0; begin < bytes; begin += most) {
    f(begin, std::min(most, bytes - begin));
  }
}
// Calls f(piece) with the values of a reduction, as many at once as a slot holds.
template <class F>
void for_pieces(const Slots& slots, const Call& call, F&& f) {
  for_pieces(call.bytes, slots.slot_bytes(), call.combine->element_bytes,
             [&](std::size_t begin, std::size_t bytes) { f(call.values.subspan(begin, bytes)); });
}

class SharedBoard {
 public:
  // memory: of least_board_bytes(ranks) or more.
  SharedBoard(int rank, int ranks, GroupMemory& memory)
      : SharedBoard(BoardPart(rank, ranks, memory), BoardLayout(ranks, memory.bytes().size()),
                    memory) {}

  Lines lines;
  RootLines root_lines;
  ChunkRing ring;
  Slots slots;
  CallRecords calls;
  OpenLines open_lines;

 private:
  SharedBoard(const BoardPart& board, const BoardLayout& layout, GroupMemory& memory)
      : lines(board, layout),
        root_lines(board, layout),
        ring(board, layout),
        slots(board, layout),
        calls(memory, layout.calls, board.rank(), board.ranks()),
        open_lines(board, layout) {}
};

}  // namespace tabane::comm
