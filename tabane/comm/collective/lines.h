// Values of a few bytes that go from rank to rank in one cache line, together with their flag.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tabane/comm/collective/board_size.h"
#include "tabane/comm/collective/call.h"
#include "tabane/comm/transport/transport.h"

namespace tabane::comm {

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
class Lines {
 public:
  Lines(std::byte* board, const BoardLayout& layout, int rank, GroupMemory& memory);

  int ranks() const { return ranks_; }
  int rank() const { return rank_; }

  // Begins a use.
  Word begin(const Call& call);
  // Shows this rank's line to the others. They may sleep until notify_all().
  void write(Word word, std::span<const std::byte> values);
  // Returns the values of rank's line, once they are there.
  const std::byte* read(int rank, Word word);

  // The same for leaders, who speak for some ranks from their own on.
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

  void notify(int rank) { memory_->notify(rank); }
  void notify_all() { memory_->notify_all(); }

 private:
  const std::byte* wait(int peer, const BoardLine& line, Word word);

  GroupMemory* memory_;
  std::atomic<std::uint64_t>* tickets_;
  BoardLine *release_, *lines_, *leader_lines_;
  int ranks_, rank_, width_, leaders_;
  std::uint32_t uses_ = 0, call_ = 0;  // and the number of the call under way
  std::uint64_t ticket_uses_ = 0;
};

// Lines of all ranks for one of them, the root: the others need not wait for each other.
class RootLines {
 public:
  RootLines(std::byte* board, const BoardLayout& layout, int rank, GroupMemory& memory);

  // Begins a use. Waits until the root of the use before the last has read its lines, which lie
  // where this use's will.
  Word begin(const Call& call);
  void write(Word word, int root, std::span<const std::byte> values);
  const std::byte* read(int rank, Word word);
  void end(Word word);  // on the root, when it has read all

 private:
  BoardLine& line(int rank, std::uint32_t use) const;

  GroupMemory* memory_;
  BoardLine* lines_;
  int rank_;
  std::uint32_t uses_ = 0, call_ = 0;
  std::array<int, 2> root_of_{any_source, any_source};  // by parity of the use; any_source: none
};

// Lines of all ranks for all ranks, for calls that do not block: several uses are open at once. A
// rank takes a line again when all ranks have begun the use that is half of the lines older, and it
// has ended that one itself, as all did before they began it with the line's last use. What finds
// no line waits on its rank.
class OpenLines {
 public:
  OpenLines(std::byte* board, const BoardLayout& layout, int rank, GroupMemory& memory);

  int ranks() const { return ranks_; }

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

  GroupMemory* memory_;
  BoardLine* lines_;
  int ranks_, rank_;
  std::uint32_t uses_ = 0, written_ = 0;
  std::array<bool, kOpenLines> open_{};  // of those written, by use
  std::vector<Waiting> waiting_;         // the uses after written_
};

}  // namespace tabane::comm
