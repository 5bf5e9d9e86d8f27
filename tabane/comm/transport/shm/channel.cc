#include "tabane/comm/transport/shm/channel.h"

#include <bit>

#include "tabane/core/error.h"

namespace tabane::comm::shm {

namespace {

constexpr std::uint64_t run_bits(int first, std::uint32_t count) {
  const std::uint64_t run = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  return run << first;
}

// Bit i: bits i … i + length - 1 of `free` are all set.
constexpr std::uint64_t starts_of_runs(std::uint64_t free, std::uint32_t length) {
  while (length > 1) {
    const std::uint32_t half = length / 2;
    free &= free >> half;
    length -= half;
  }
  return free;
}

// What one more line carries of the `left` bytes. Whole lines take a few moves, not a call.
inline void copy_part(std::byte* to, const std::byte* from, std::size_t left) {
  if (left >= kNextLineBytes) {
    std::memcpy(to, from, kNextLineBytes);
  } else {
    std::memcpy(to, from, left);
  }
}

// Asks for the lines of that memory, to write them. The other rank's cache has them, and each takes
// as long as a short message. A core waits for some 16 lines at a time, but stores end in order.
inline void fetch_to_write(const std::byte* begin, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += sizeof(Line)) {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" ::"m"(begin[i]));  // the builtin needs a newer processor
#else
    __builtin_prefetch(begin + i, 1);
#endif
  }
}

}  // namespace

void copy_to_other(std::byte* to, const std::byte* from, std::size_t bytes) {
  constexpr std::size_t kAtOnce = 16 * sizeof(Line);
  for (std::size_t done = 0; done < bytes; done += kAtOnce) {
    const std::size_t part = std::min(kAtOnce, bytes - done);
    fetch_to_write(to + done, part);
    std::memcpy(to + done, from + done, part);
  }
}

ChannelLayout::ChannelLayout(std::span<std::byte> memory) {
  const std::size_t quarter = memory.size() / 4 / sizeof(Line);
  line_count =
      static_cast<std::uint32_t>(std::clamp<std::size_t>(std::bit_floor(quarter), 32, 128));
  const std::size_t head =
      sizeof(Control) + line_count * sizeof(Line) + kRecords * sizeof(DirectCopy);
  TABANE_ASSERT(memory.size() >= 8192);
  const std::size_t rest = memory.size() - head;
  block_shift = 8;
  while (rest >> block_shift > 64) ++block_shift;
  block_bytes = std::size_t{1} << block_shift;
  block_count = static_cast<std::uint32_t>(rest >> block_shift);

  control = reinterpret_cast<Control*>(memory.data());
  lines = reinterpret_cast<Line*>(memory.data() + sizeof(Control));
  records = reinterpret_cast<DirectCopy*>(lines + line_count);
  blocks = memory.data() + memory.size() - block_count * block_bytes;
}

void Sender::look_for_free_blocks() {
  free_ = ~(taken_ ^ layout_.control->released.load(std::memory_order_acquire)) & all_blocks_;
}

std::uint32_t Sender::free_blocks() {
  look_for_free_blocks();
  return static_cast<std::uint32_t>(std::popcount(free_));
}

// starts: of free runs of that length; not 0.
int Sender::take_one_of(std::uint64_t starts, std::uint32_t blocks) {
  const std::uint64_t next_ones = in_turn(starts);
  const int first = std::countr_zero(next_ones != 0 ? next_ones : starts);
  next_ = (first + static_cast<int>(blocks)) % 64;
  taken_ ^= run_bits(first, blocks);
  free_ &= ~run_bits(first, blocks);
  return first;
}

int Sender::take_blocks(std::uint32_t blocks) {
  std::uint64_t starts = starts_of_runs(free_, blocks);
  if (in_turn(starts) == 0) {
    look_for_free_blocks();
    starts = starts_of_runs(free_, blocks);
  }
  return starts == 0 ? -1 : take_one_of(starts, blocks);
}

int Sender::take_some_blocks(std::uint32_t most, std::uint32_t& blocks) {
  look_for_free_blocks();
  for (blocks = most; blocks > 0; --blocks) {
    const std::uint64_t starts = starts_of_runs(free_, blocks);
    if (starts != 0) return take_one_of(starts, blocks);
  }
  return -1;
}

int Sender::take_record() {
  const std::uint32_t differs =
      taken_records_ ^ layout_.control->released_records.load(std::memory_order_acquire);
  const std::uint32_t free = ~(differs | own_records_) & ((1u << kRecords) - 1);
  if (free == 0) return -1;
  const int index = std::countr_zero(free);
  taken_records_ ^= 1u << index;
  own_records_ |= 1u << index;
  return index;
}

void Sender::put_lines(Line& first, const std::byte* bytes, std::size_t size) {
  std::uint32_t position = position_;
  for (std::uint32_t i = 0; i < lines_for(size); ++i) {
    fetch_to_write(reinterpret_cast<const std::byte*>(&line_at(position + i)), 1);
  }
  std::memcpy(first.payload, bytes, kFirstLineBytes);
  for (std::size_t done = kFirstLineBytes; done < size; done += kNextLineBytes) {
    Line& line = line_at(++position);
    copy_part(line.continued(), bytes + done, size - done);
    // Else a number of long ago could stay here until it is the one that is waited for.
    line.sequence.store(position + 1, std::memory_order_relaxed);
  }
}

void Receiver::copy_lines(const Line& first, std::byte* into) const {
  const std::size_t size = first.bytes();
  if (size == 0) return;
  std::memcpy(into, first.payload, std::min(kFirstLineBytes, size));
  std::uint32_t position = position_;
  for (std::size_t done = kFirstLineBytes; done < size; done += kNextLineBytes) {
    const Line& line = line_at(++position);
    copy_part(into + done, line.continued(), size - done);
  }
}

void Receiver::release_blocks(int first, std::uint32_t blocks) {
  std::atomic<std::uint64_t>& released = layout_.control->released;
  released.store(released.load(std::memory_order_relaxed) ^ run_bits(first, blocks),
                 std::memory_order_release);
}

}  // namespace tabane::comm::shm
