#include "tabane/comm/collective/lines.h"

#include <cstring>

#include "tabane/comm/collective/flag_wait.h"

namespace tabane::comm {
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

// Of the next use to be written. Who has left the older one by an error has not seen all its lines.
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

}  // namespace tabane::comm
