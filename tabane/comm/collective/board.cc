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

std::size_t wanted_slot_bytes(int ranks) {
  return std::clamp(whole(kAllSlotsBytes / (2 * static_cast<std::size_t>(ranks)), kLineBytes),
                    kLeastSlotBytes, kMostSlotBytes);
}

}  // namespace

BoardLayout::BoardLayout(int the_ranks, std::size_t bytes_of_chunk, std::size_t bytes_of_slot)
    : ranks(the_ranks),
      width(static_cast<int>(std::ceil(std::sqrt(ranks)))),
      leaders((ranks + width - 1) / width),
      chunk_bytes(bytes_of_chunk),
      slot_bytes(bytes_of_slot) {
  const auto p = static_cast<std::size_t>(ranks), l = static_cast<std::size_t>(leaders);
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

// Chunks and slots have their least sizes and share what is left in proportion to what they want.
BoardLayout::BoardLayout(int the_ranks, std::size_t bytes)
    : BoardLayout(the_ranks, kLeastChunkBytes, kLeastSlotBytes) {
  const std::size_t slots_in_all = 2 * static_cast<std::size_t>(ranks);
  const std::size_t chunks_want = kRingChunks * (kMostChunkBytes - kLeastChunkBytes);
  const std::size_t slots_want = slots_in_all * (wanted_slot_bytes(ranks) - kLeastSlotBytes);
  const std::size_t wanted = chunks_want + slots_want;
  const std::size_t left = std::min(bytes - end, wanted);
  *this = BoardLayout(
      ranks, kLeastChunkBytes + whole(left * chunks_want / wanted / kRingChunks, kLineBytes),
      kLeastSlotBytes + whole(left * slots_want / wanted / slots_in_all, kLineBytes));
}

std::size_t board_bytes(int ranks) {
  if (ranks < 2) return 0;
  return whole(BoardLayout(ranks, kMostChunkBytes, wanted_slot_bytes(ranks)).end + kPageBytes - 1,
               kPageBytes);
}

std::size_t least_board_bytes(int ranks) {
  return ranks < 2 ? 0 : BoardLayout(ranks, kLeastChunkBytes, kLeastSlotBytes).end;
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
  return signature.type.code | static_cast<std::uint32_t>(signature.bytes & 63) << 16 |
         (signature.how & 15U) << 22 | static_cast<std::uint32_t>(signature.kind) << 26;
}
constexpr Signature signature_in(Word word, std::uint64_t call) {
  const auto bits = static_cast<std::uint32_t>(word);
  return {bits >> 16 & 63,
          {static_cast<std::uint16_t>(bits)},
          static_cast<std::uint8_t>(bits >> 22 & 15),
          static_cast<Kind>(bits >> 26),
          static_cast<std::uint32_t>(call)};
}

void check(int rank, Word own, std::uint32_t call, int other_rank, const BoardLine& line) {
  const Word other = line.word.load(std::memory_order_relaxed);
  if (own == other && line.call == call) return;
  throw_different_calls(rank, signature_in(own, call), other_rank, signature_in(other, line.call));
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

Lines::Lines(const BoardPart& board, const BoardLayout& layout)
    : BoardPart(board),
      tickets_(at<std::atomic<std::uint64_t>>(0)),
      release_(at<BoardLine>(kLineBytes)),
      lines_(at<BoardLine>(layout.lines)),
      leader_lines_(at<BoardLine>(layout.leader_lines)),
      width_(layout.width),
      leaders_(layout.leaders) {}

Word Lines::begin(const Call& call) {
  call_ = call.number;
  return word_of(++uses_, digest(signature_of(call)));
}

void Lines::write(Word word, std::span<const std::byte> values) {
  put(lines_[2 * rank_ + static_cast<int>(use_of(word) & 1)], word, call_, values);
}

Word Lines::show(const Call& call, std::span<const std::byte> values, bool all_come) {
  const Word word = begin(call);
  write(word, values);
  all_come ? wait_for_all(word) : notify_all();
  return word;
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

void RootLines::end(Word word) {
  put(line(rank_, use_of(word)), word, call_, {});
  memory_->notify_all();
}

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
  last ? memory_->notify_all() : memory_->notify(root);
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
  reader == any_source ? memory_->notify_all() : memory_->notify(reader);
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
