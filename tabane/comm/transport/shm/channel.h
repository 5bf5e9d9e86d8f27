// Messages from one rank to another through memory that both map.
//
//   control  1 line    written by the receiver: what the sender may use again
//   lines    ring of N the sender's, in order; each with a sequence number of its own
//   records  8         direct copies of large messages
//   blocks    up to 64  payload of middle messages
//
// A line is there when its sequence number is its position in the stream + 1: so the receiver polls
// just the line that comes next, and a message of up to 40 bytes is that one line. Up to 520 bytes
// follow in the next lines; their first line is published last. The sender does not touch the
// control line until what it knows to be free is used up.
//
// A block (and a record) has one bit in the sender's `taken` and one in the receiver's `released`:
// equal, it is the sender's to take, which flips the one; different, the receiver's to release,
// which flips the other. So no bit has two writers, and blocks come back in any order.
//
// What one side stores with release, the other loads with acquire:
//
//   sequence          publish()         next()          the line, and what it speaks of, is written
//   consumed          consume()         has_lines()     the lines have been read
//   released          release_blocks()  look_for_free_blocks()  so have the blocks
//   released_records  release_record()  is_released(), take_record()  the receiver's end of a copy
//   called_records    call_sender()     is_called()     the record is filled in
//
// Relaxed are hints, on which no data depend; a side's own look at what it alone writes; and the
// numbers of later lines of a message, which the one of its first line publishes.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "tabane/comm/transport/shm/direct_copy.h"

namespace tabane::comm::shm {

enum class LineKind : std::uint8_t {
  inline_bytes,  // the message is in this line and the next ones
  run,           // its first piece; all pieces will be one after the other from block `block` on
  scattered,     // its first piece; each piece has blocks of its own
  repeat,        // as scattered: the bytes of record `block`, whose direct copy was refused
  more,          // a further piece of the message that began last
  direct,        // record `block` says where the message is
};

// No process has 2^48 bytes, and no rank makes 2^36 groups: so 48 bits for the size of a message
// and 48 for its context (12 for the group's first member, 36 that count its groups) share 16
// bytes.
inline constexpr int kSizeBits = 48, kContextBits = 48, kGroupBits = 36;

struct alignas(64) Line {
  std::atomic<std::uint32_t> sequence{0};
  std::int32_t tag = 0;
  std::uint64_t bytes_and_context = 0;  // its upper bits above; of a `more`: unused
  std::uint32_t context_low = 0;
  std::uint16_t type = 0;
  LineKind kind = LineKind::inline_bytes;
  std::uint8_t block = 0;
  std::byte payload[40] = {};  // a piece: its size, 4 bytes

  // Of the message; not of a `more`.
  std::uint64_t bytes() const { return bytes_and_context & ((std::uint64_t{1} << kSizeBits) - 1); }
  std::uint64_t context() const { return bytes_and_context >> kSizeBits << 32 | context_low; }
  void set(std::uint64_t bytes, std::uint64_t context) {
    bytes_and_context = bytes | context >> 32 << kSizeBits;
    context_low = static_cast<std::uint32_t>(context);
  }
  // Of a line that continues the one before: all but the sequence number.
  std::byte* continued() { return reinterpret_cast<std::byte*>(this) + 4; }
  const std::byte* continued() const { return reinterpret_cast<const std::byte*>(this) + 4; }
  std::uint32_t piece_bytes() const {
    std::uint32_t size;
    std::memcpy(&size, payload, sizeof size);
    return size;
  }
};
static_assert(sizeof(Line) == 64 && offsetof(Line, payload) == 24);

inline constexpr std::size_t kFirstLineBytes = 40, kNextLineBytes = 60;
inline constexpr std::size_t kInlineBytes = kFirstLineBytes + 8 * kNextLineBytes;
inline constexpr std::uint32_t kRecords = 8;

inline std::uint32_t lines_for(std::size_t bytes) {
  if (bytes <= kFirstLineBytes) return 1;
  return 1 + static_cast<std::uint32_t>((bytes - kFirstLineBytes + kNextLineBytes - 1) /
                                        kNextLineBytes);
}

struct alignas(128) Control {
  std::atomic<std::uint32_t> consumed{0};  // lines, published now and then
  std::atomic<std::uint32_t> released_records{0};
  std::atomic<std::uint32_t> called_records{0};  // flipped: the sender is to look at the record
  std::atomic<std::uint64_t> released{0};        // one bit a block
  // Read before each large message, and written seldom: in a line of their own.
  alignas(64) std::atomic<std::uint32_t> takes_views{0};  // it took its last large message so
  std::array<std::atomic<Way>, kWayClasses> ways{};       // as the receiver has decided
};

inline std::atomic<Way>& way_of(Control& control, std::size_t bytes) {
  return control.ways[static_cast<std::size_t>(way_class(bytes))];
}

// Where the parts are. A channel of zeros is an empty one.
struct ChannelLayout {
  // memory: at least 8 KiB, the same size for both sides; starts at a page.
  explicit ChannelLayout(std::span<std::byte> memory);

  std::uint32_t blocks_for(std::size_t bytes) const {
    return static_cast<std::uint32_t>((bytes + block_bytes - 1) >> block_shift);
  }

  Control* control;
  Line* lines;
  DirectCopy* records;
  std::byte* blocks;
  std::uint32_t line_count;   // a power of two, >= 32
  std::uint32_t block_count;  // 16 … 64
  std::uint32_t block_shift;
  std::size_t block_bytes;  // 1 << block_shift
};

// Copies into memory that the other rank reads.
void copy_to_other(std::byte* to, const std::byte* from, std::size_t bytes);

// What a message says of itself.
struct Envelope {
  std::uint64_t context = 0;  // which group
  std::int32_t tag = 0;
  std::uint16_t type = 0;
  std::uint64_t bytes = 0;
};

inline Envelope envelope_of(const Line& line) {
  return {line.context(), line.tag, line.type, line.bytes()};
}

// States of DirectCopy::open: announced by the sender; withdrawn by it, or claimed and then opened
// by the receiver.
inline constexpr std::uint32_t kAnnounced = 0, kOpen = 1, kWithdrawn = 2, kClaimed = 3;

// What both ends of a channel know.
class ChannelEnd {
 public:
  explicit ChannelEnd(const ChannelLayout& layout)
      : layout_(layout), mask_(layout.line_count - 1) {}

  std::size_t block_bytes() const { return layout_.block_bytes; }
  std::uint32_t blocks_for(std::size_t bytes) const { return layout_.blocks_for(bytes); }
  std::uint32_t block_count() const { return layout_.block_count; }
  std::byte* block(int index) const {
    return layout_.blocks + static_cast<std::size_t>(index) * layout_.block_bytes;
  }
  DirectCopy& record(int index) const { return layout_.records[index]; }

 protected:
  Line& line_at(std::uint32_t position) const { return layout_.lines[position & mask_]; }

  ChannelLayout layout_;
  std::uint32_t mask_;
};

// The sending end. All functions return at once; "false" and "-1" mean: not until the receiver has
// moved on.
class Sender : public ChannelEnd {
 public:
  // window_bytes: blocks in that much memory are taken in turn; 0: always the first that is free.
  explicit Sender(const ChannelLayout& layout, std::size_t window_bytes = 0)
      : ChannelEnd(layout),
        all_blocks_(bits(layout.block_count)),
        window_(bits(static_cast<std::uint32_t>(
            std::min<std::size_t>(window_bytes >> layout.block_shift, layout.block_count)))) {}

  // A message of up to kInlineBytes.
  bool put_inline(const Envelope& envelope, const std::byte* bytes) {
    const std::uint32_t lines = lines_for(envelope.bytes);
    if (!has_lines(lines)) return false;
    Line& line = line_at(position_);
    if (lines == 1) {
      copy_short(line.payload, bytes, envelope.bytes);
    } else {
      put_lines(line, bytes, envelope.bytes);
    }
    publish(line, envelope, LineKind::inline_bytes, 0, lines);
    return true;
  }

  // Whether that many lines can be written now.
  bool has_lines(std::uint32_t lines) {
    if (position_ + lines - consumed_ <= layout_.line_count) [[likely]]
      return true;
    consumed_ = layout_.control->consumed.load(std::memory_order_acquire);
    return position_ + lines - consumed_ <= layout_.line_count;
  }
  // One line about a piece or a record. Needs has_lines(1).
  void put(const Envelope& envelope, LineKind kind, int block, std::uint32_t piece_bytes) {
    Line& line = line_at(position_);
    std::memcpy(line.payload, &piece_bytes, sizeof piece_bytes);
    publish(line, envelope, kind, block, 1);
  }

  // Takes `blocks` neighbouring blocks. Returns the first, or -1.
  int take_blocks(std::uint32_t blocks);
  // Takes as many neighbouring blocks as there are, at most `most`. Returns the first, or -1.
  int take_some_blocks(std::uint32_t most, std::uint32_t& blocks);
  std::uint32_t free_blocks();
  int take_record();  // -1: none is free
  // What the receiver says of a record that was taken: cost: a load of the control line, which it
  // does not write while it copies.
  bool is_released(int record) const {
    return ((taken_records_ ^ layout_.control->released_records.load(std::memory_order_acquire)) >>
                record &
            1) == 0;
  }
  bool is_called(int record) const {
    return ((called_records_ ^ layout_.control->called_records.load(std::memory_order_acquire)) >>
                record &
            1) != 0;
  }
  bool receiver_takes_views() const {
    return layout_.control->takes_views.load(std::memory_order_relaxed) != 0;
  }
  Way way(std::size_t bytes) const {
    return way_of(*layout_.control, bytes).load(std::memory_order_relaxed);
  }
  // The sender has seen what became of its message: once released, too, the record is free.
  void leave_record(int record) {
    own_records_ &= ~(1u << record);
    if (is_called(record)) called_records_ ^= 1u << record;
  }

 private:
  static std::uint64_t bits(std::uint32_t count) {
    return count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  }
  static void copy_short(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes == 8) {
      std::memcpy(to, from, 8);
    } else if (bytes != 0) {
      std::memcpy(to, from, bytes);
    }
  }
  void put_lines(Line& first, const std::byte* bytes, std::size_t size);
  void publish(Line& line, const Envelope& envelope, LineKind kind, int block,
               std::uint32_t lines) {
    line.tag = envelope.tag;
    line.set(envelope.bytes, envelope.context);
    line.type = envelope.type;
    line.kind = kind;
    line.block = static_cast<std::uint8_t>(block);
    line.sequence.store(position_ + 1, std::memory_order_release);
    position_ += lines;
  }
  void look_for_free_blocks();
  std::uint64_t in_turn(std::uint64_t starts) const { return starts & window_ >> next_ << next_; }
  int take_one_of(std::uint64_t starts, std::uint32_t blocks);

  std::uint32_t position_ = 0;  // of the line that is written next
  std::uint32_t consumed_ = 0;  // as last seen
  std::uint64_t all_blocks_;
  std::uint64_t window_;
  int next_ = 0;                        // block
  std::uint64_t taken_ = 0, free_ = 0;  // free: as last seen
  std::uint32_t taken_records_ = 0;
  std::uint32_t own_records_ = 0;     // of which the sender still waits for the end
  std::uint32_t called_records_ = 0;  // as in the control line when the record was left
};

// The receiving end.
class Receiver : public ChannelEnd {
 public:
  explicit Receiver(const ChannelLayout& layout)
      : ChannelEnd(layout), publish_each_(layout.line_count / 4) {}

  // The line that comes next, or null if it is not there yet.
  const Line* next() const {
    const Line& line = line_at(position_);
    return line.sequence.load(std::memory_order_acquire) == position_ + 1 ? &line : nullptr;
  }
  // The bytes of a message that begins with line `first`, of kind inline_bytes.
  void copy_inline(const Line& first, std::byte* into) const {
    if (first.bytes() == 8) {
      std::memcpy(into, first.payload, 8);
    } else {
      copy_lines(first, into);
    }
  }
  // How many lines have come, up to `most`.
  std::uint32_t lines_there(std::uint32_t most) const {
    std::uint32_t count = 0;
    for (; count < most; ++count) {
      const Line& line = line_at(position_ + count);
      if (line.sequence.load(std::memory_order_relaxed) != position_ + count + 1) break;
    }
    return count;
  }
  // Goes on behind `lines` lines, from which nothing will be read any more. Returns whether the
  // sender may wait for that.
  bool consume(std::uint32_t lines) {
    position_ += lines;
    if (position_ - published_ < publish_each_) [[likely]]
      return false;
    published_ = position_;
    layout_.control->consumed.store(position_, std::memory_order_release);
    return true;
  }
  void release_blocks(int first, std::uint32_t blocks);
  void release_record(int index) { flip(layout_.control->released_records, index); }
  void call_sender(int record) { flip(layout_.control->called_records, record); }
  void choose_way(std::size_t bytes, Way way) {
    way_of(*layout_.control, bytes).store(way, std::memory_order_relaxed);
  }
  // Tells the sender which way is better for the next message of such a size.
  void take_views(bool yes) {
    std::atomic<std::uint32_t>& told = layout_.control->takes_views;
    if (told.load(std::memory_order_relaxed) != static_cast<std::uint32_t>(yes)) {
      told.store(yes, std::memory_order_relaxed);
    }
  }

 private:
  static void flip(std::atomic<std::uint32_t>& bits, int index) {
    bits.store(bits.load(std::memory_order_relaxed) ^ (1u << index), std::memory_order_release);
  }
  void copy_lines(const Line& first, std::byte* into) const;

  std::uint32_t publish_each_;
  std::uint32_t position_ = 0;
  std::uint32_t published_ = 0;
};

}  // namespace tabane::comm::shm
