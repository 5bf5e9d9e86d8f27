#include "tabane/comm/collective/board.h"

#include <cmath>
#include <cstring>

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

MemoryRequest board_request(int ranks) { return {least_board_bytes(ranks), board_bytes(ranks)}; }

namespace {

constexpr Word word_of(std::uint32_t use, std::uint32_t digest) {
  return static_cast<Word>(use) << 32 | digest;
}
constexpr std::uint32_t use_of(Word word) { return static_cast<std::uint32_t>(word >> 32); }

// Lines carry at most 48 bytes, operations are few: 16 bits of type, 6 of bytes, 4 and 4 for
// operation (or layout) and kind.
constexpr std::uint32_t digest(const Signature& signature) {
  const std::uint32_t what = signature.what;
  return (what & 0xffff) | static_cast<std::uint32_t>(signature.bytes & 63) << 16 |
         (what >> 16 & 15) << 22 | (what >> 24) << 26;
}
constexpr Signature signature_in(Word word, std::uint64_t call) {
  const auto bits = static_cast<std::uint32_t>(word);
  return {bits >> 16 & 63, (bits & 0xffff) | (bits >> 22 & 15) << 16 | bits >> 26 << 24,
          static_cast<std::uint32_t>(call)};
}

void check(int rank, Word own, std::uint32_t call, int other_rank, const BoardLine& line) {
  const Word other = line.word.load(std::memory_order_relaxed);
  if (own == other && line.call == call) return;
  throw_different_calls(rank, signature_in(own, call), other_rank, signature_in(other, line.call));
}

template <class T>
T* at(std::byte* board, std::size_t offset) {
  return reinterpret_cast<T*>(board + offset);
}

void put(BoardLine& line, Word word, std::uint32_t call, std::span<const std::byte> values) {
  line.call = call;
  if (!values.empty()) std::memcpy(line.values, values.data(), values.size());
  line.word.store(word, std::memory_order_release);
}

bool has_come(const BoardLine& line, Word word) {
  return use_of(line.word.load(std::memory_order_acquire)) == use_of(word);
}

}  // namespace

Lines::Lines(std::byte* board, const BoardLayout& layout, int rank, GroupMemory& memory)
    : memory_(&memory),
      tickets_(at<std::atomic<std::uint64_t>>(board, 0)),
      release_(at<BoardLine>(board, kLineBytes)),
      lines_(at<BoardLine>(board, layout.lines)),
      leader_lines_(at<BoardLine>(board, layout.leader_lines)),
      ranks_(layout.ranks),
      rank_(rank),
      width_(layout.width),
      leaders_(layout.leaders) {}

Word Lines::begin(const Call& call) {
  call_ = call.number;
  return word_of(++uses_, digest(signature_of(call)));
}

void Lines::write(Word word, std::span<const std::byte> values) {
  put(lines_[2 * rank_ + static_cast<int>(use_of(word) & 1)], word, call_, values);
}

const std::byte* Lines::read(int rank, Word word) {
  return wait(rank, lines_[2 * rank + static_cast<int>(use_of(word) & 1)], word);
}

void Lines::write_as_leader(Word word, std::span<const std::byte> values) {
  put(leader_lines_[2 * (rank_ / width_) + static_cast<int>(use_of(word) & 1)], word, call_,
      values);
}

const std::byte* Lines::read_leader(int leader, Word word) {
  return wait(leader * width_, leader_lines_[2 * leader + static_cast<int>(use_of(word) & 1)],
              word);
}

bool Lines::is_last() {
  const auto all = static_cast<std::uint64_t>(ranks_) * ++ticket_uses_;
  return tickets_->fetch_add(1, std::memory_order_acq_rel) + 1 == all;
}

void Lines::write_release(Word word, std::span<const std::byte> values) {
  put(*release_, word, call_, values);
}

const std::byte* Lines::read_release(Word word) { return wait(any_source, *release_, word); }

void Lines::wait_for_all(Word word) {
  if (!is_last()) {
    read_release(word);
    return;
  }
  write_release(word, {});
  notify_all();
}

const std::byte* Lines::wait(int peer, const BoardLine& line, Word word) {
  wait_for_flag(*memory_, peer, [&] { return has_come(line, word); });
  check(rank_, word, call_, peer, line);
  return line.values;
}

RootLines::RootLines(std::byte* board, const BoardLayout& layout, int rank, GroupMemory& memory)
    : memory_(&memory), lines_(at<BoardLine>(board, layout.root_lines)), rank_(rank) {}

BoardLine& RootLines::line(int rank, std::uint32_t use) const {
  return lines_[2 * rank + static_cast<int>(use & 1)];
}

// A root writes its own line last, so that it shows that the use is over. It may have begun this
// use already.
Word RootLines::begin(const Call& call) {
  const std::uint32_t use = ++uses_;
  int& root = root_of_[use & 1];
  if (root != any_source && root != rank_) {
    const BoardLine& last = line(root, use);
    wait_for_flag(*memory_, root, [&] {
      const std::uint32_t seen = use_of(last.word.load(std::memory_order_acquire));
      return seen == use - 2 || seen == use;
    });
  }
  root = call.root;
  call_ = call.number;
  return word_of(use, digest(signature_of(call)));
}

void RootLines::write(Word word, int root, std::span<const std::byte> values) {
  put(line(rank_, use_of(word)), word, call_, values);
  memory_->notify(root);
}

const std::byte* RootLines::read(int rank, Word word) {
  const BoardLine& from = line(rank, use_of(word));
  wait_for_flag(*memory_, rank, [&] { return has_come(from, word); });
  check(rank_, word, call_, rank, from);
  return from.values;
}

OpenLines::OpenLines(std::byte* board, const BoardLayout& layout, int rank, GroupMemory& memory)
    : memory_(&memory),
      lines_(at<BoardLine>(board, layout.open_lines)),
      ranks_(layout.ranks),
      rank_(rank) {}

Word OpenLines::begin(const Call& call) {
  flush();
  const Word word = word_of(++uses_, digest(signature_of(call)));
  if (waiting_.empty() && has_line(uses_)) {
    write(word, call.number, true, call.values);
  } else {
    Waiting& use = waiting_.emplace_back(Waiting{word, call.number, true, call.bytes, {}});
    std::ranges::copy(call.values, use.values.begin());
  }
  return word;
}

void OpenLines::write_waiting() {
  while (!waiting_.empty() && has_line(written_ + 1)) {
    const Waiting& use = waiting_.front();
    write(use.word, use.number, use.is_open, std::span(use.values).first(use.bytes));
    waiting_.erase(waiting_.begin());  // there are few
  }
}

// Of the next use to be written. A rank that has left the older one by an error has not seen all
// its lines.
bool OpenLines::has_line(std::uint32_t use) const {
  const std::uint32_t older = use - kOpenLines / 2;
  if (open_[older % kOpenLines]) return false;
  for (int rank = 0; rank < ranks_; ++rank) {
    const std::uint32_t seen = use_of(line(rank, older).word.load(std::memory_order_acquire));
    if (static_cast<std::int32_t>(seen - older) < 0) return false;
  }
  return true;
}

void OpenLines::write(Word word, std::uint32_t number, bool is_open,
                      std::span<const std::byte> values) {
  written_ = use_of(word);
  open_[written_ % kOpenLines] = is_open;
  put(line(rank_, written_), word, number, values);
  memory_->notify_all();
}

bool OpenLines::is_written(Word word) const {
  return static_cast<std::int32_t>(written_ - use_of(word)) >= 0;
}

const std::byte* OpenLines::look(int rank, Word word, std::uint32_t number) const {
  const BoardLine& from = line(rank, use_of(word));
  if (!has_come(from, word)) return nullptr;
  check(rank_, word, number, rank, from);
  return from.values;
}

void OpenLines::end(Word word) {
  if (is_written(word)) {
    open_[use_of(word) % kOpenLines] = false;
    return;
  }
  for (Waiting& use : waiting_) {
    if (use.word == word) use.is_open = false;
  }
}

void RootLines::end(Word word) {
  put(line(rank_, use_of(word)), word, call_, {});
  memory_->notify_all();
}

ChunkRing::ChunkRing(std::byte* board, const BoardLayout& layout, int rank, GroupMemory& memory)
    : memory_(&memory),
      consumed_(reinterpret_cast<ConsumedChunks*>(board + layout.consumed)),
      chunks_(board + layout.chunks),
      chunk_bytes_(layout.chunk_bytes),
      ranks_(layout.ranks),
      rank_(rank) {}

std::byte* ChunkRing::place() const {
  return chunks_ + number_ % kRingChunks * (kLineBytes + chunk_bytes_);
}

std::span<std::byte> ChunkRing::begin() {
  ++number_;
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
  // A root has consumed its own chunk when it has written it. release: begin() of a later root
  // acquires it. So where ranks disagree on the root, none of them still writes this chunk when
  // that one writes the chunk that takes its place. No test of right programs can see chunks.store
  // weaker here: the later root has read this chunk.
  consumed_[rank_].chunks.store(number_, std::memory_order_release);
  head().number.store(number_, std::memory_order_release);
  memory_->notify_all();
}

std::span<const std::byte> ChunkRing::read(const Signature& signature, int root) {
  ++number_;
  const ChunkHead& shown = head();
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

Slots::Slots(std::byte* board, const BoardLayout& layout, int rank, GroupMemory& memory)
    : memory_(&memory),
      progress_(reinterpret_cast<SlotProgress*>(board + layout.progress)),
      slots_(board + layout.slots),
      slot_bytes_(layout.slot_bytes),
      ranks_(layout.ranks),
      rank_(rank) {}

std::byte* Slots::slot(int rank) const {
  return slots_ + (2 * static_cast<std::size_t>(rank) + (step_ & 1)) * slot_bytes_;
}

void Slots::wait_for(int rank, std::uint64_t count) {
  const std::atomic<std::uint64_t>& seen = progress_[rank].count;
  wait_for_flag(*memory_, rank, [&] { return seen.load(std::memory_order_acquire) >= count; });
}

std::span<std::byte> Slots::begin(int reader) {
  ++step_;
  int& last_reader = reader_[step_ & 1];
  if (last_reader != kNobody) {
    const std::uint64_t done = 2 * (step_ - 2) + 1;
    for (int rank = 0; rank < ranks_; ++rank) {
      if (rank != rank_ && (last_reader == any_source || last_reader == rank)) wait_for(rank, done);
    }
  }
  last_reader = reader;
  return {slot(rank_), slot_bytes_};
}

void Slots::publish(const Signature& signature) {
  progress_[rank_].signatures[step_ & 1] = signature;
  progress_[rank_].count.store(2 * step_, std::memory_order_release);
  const int reader = reader_[step_ & 1];
  if (reader == any_source) {
    memory_->notify_all();
  } else {
    memory_->notify(reader);
  }
}

std::span<const std::byte> Slots::read(int rank, const Signature& signature) {
  wait_for(rank, 2 * step_);
  const Signature& other = progress_[rank].signatures[step_ & 1];
  if (other != signature) throw_different_calls(rank_, signature, rank, other);
  return {slot(rank), slot_bytes_};
}

void Slots::end() {
  progress_[rank_].count.store(2 * step_ + 1, std::memory_order_release);
  memory_->notify_all();
}

}  // namespace tabane::comm
