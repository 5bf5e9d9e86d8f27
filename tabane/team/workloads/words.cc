#include "tabane/team/workloads/words.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace tabane::workloads {
namespace {

// What a worker has counted. All the pieces of a worker have the same, so that they need no merging
// and fill one table only. Bytes from another process wait here until they are merged: a table for
// them alone would be made in vain.
struct Tally {
  std::shared_ptr<WordCounts> counts;  // or
  team::Bytes bytes;
};

}  // namespace
}  // namespace tabane::workloads

template <>
struct tabane::team::Serialiser<tabane::workloads::Tally> {
  using Tally = workloads::Tally;
  static void put(Bytes& out, const Tally& value) {
    const std::size_t begin = out.size();
    put_value(out, std::uint64_t{0});
    put_value(out, *value.counts);
    const std::uint64_t size = out.size() - begin - sizeof size;
    std::memcpy(out.data() + begin, &size, sizeof size);
  }
  static Tally get(Reader& in) {
    const auto bytes = in.take(get_value<std::uint64_t>(in));
    return {nullptr, {bytes.begin(), bytes.end()}};
  }
};

namespace tabane::workloads {

// ---- the table ----

void WordCounts::add(std::string_view word, std::uint64_t count) {
  if (word.size() > kShort) {
    long_words_[std::string(word)] += count;
    return;
  }
  std::array<std::uint64_t, 2> letters{};
  std::memcpy(letters.data(), word.data(), word.size());
  add(ShortWord{letters[0], letters[1], word.size()}, count);
}

void WordCounts::grow(std::size_t slots) {
  decltype(slots_) old(slots);
  old.swap(slots_);
  shift_ = 64 - std::countr_zero(slots);
  for (const Slot& slot : old) {
    if (slot.tag != 0) place(slot) = slot;
  }
}

void WordCounts::reserve_to_merge(std::size_t words) {
  const std::size_t all = short_words_ + words;
  if (all > slots_.size() / 8 * 7) grow(std::bit_ceil(all + all / 7 + 1));
}

void WordCounts::merge(const WordCounts& other) {
  reserve_to_merge(other.short_words_);
  constexpr std::size_t kAhead = 32;
  for (std::size_t i = 0; i < other.slots_.size(); ++i) {
    if (i + kAhead < other.slots_.size()) prefetch(other.slots_[i + kAhead].tag);
    if (other.slots_[i].tag != 0) add(other.slots_[i]);
  }
  for (const auto& [word, count] : other.long_words_) long_words_[word] += count;
}

void WordCounts::put(team::Bytes& out) const {
  team::put_value(out, long_words_);
  team::put_value(out, std::uint64_t{short_words_});
  const std::size_t begin = out.size();
  out.resize(begin + short_words_ * 3 * sizeof(std::uint64_t));
  std::byte* to = out.data() + begin;
  const auto copy = [&](const std::uint64_t& from) {
    std::memcpy(to, &from, sizeof from);
    to += sizeof from;
  };
  for (const Slot& slot : slots_) {
    if (slot.tag == 0) continue;
    const std::uint64_t size = slot.tag & kSizeBits;
    copy(slot.count << kSizeWidth | size);
    copy(slot.low);
    if (size > 8) copy(slot.high);
  }
  out.resize(static_cast<std::size_t>(to - out.data()));
}

void WordCounts::merge(team::Reader& in) {
  for (const auto& [word, count] : team::get_value<decltype(long_words_)>(in))
    long_words_[word] += count;
  const auto words = team::get_value<std::uint64_t>(in);
  if (words > in.left() / (2 * sizeof(std::uint64_t)))
    throw std::out_of_range("a table of words ends too early");
  reserve_to_merge(words);
  for (std::uint64_t i = 0; i < words; ++i) {
    const auto head = team::get_value<std::uint64_t>(in);
    const std::uint64_t count = head >> kSizeWidth, size = head & kSizeBits;
    const auto low = team::get_value<std::uint64_t>(in);
    add(ShortWord{low, size > 8 ? team::get_value<std::uint64_t>(in) : 0, size}, count);
  }
}

WordCounts::Words WordCounts::words() const {
  Words all(long_words_.begin(), long_words_.end());
  for (const Slot& slot : slots_) {
    if (slot.tag == 0) continue;
    const char* const letters = reinterpret_cast<const char*>(&slot.low);
    all.emplace_back(std::string_view(letters, slot.tag & kSizeBits), slot.count);
  }
  return all;
}

WordCounts merged(WordCounts a, WordCounts b) {
  if (a.size() < b.size()) std::swap(a, b);
  a.merge(b);
  return a;
}

// ---- the words of a piece ----

namespace {

constexpr std::size_t kBlock = 64;  // bytes, one for each bit of an integer

constexpr bool in_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return !(byte == ' ' || static_cast<unsigned char>(byte - '\t') < 5);
}

std::uint64_t load(const void* at) {
  std::uint64_t eight;
  std::memcpy(&eight, at, sizeof eight);
  return eight;
}

// Returns a bit for each byte of a block: whether it is part of a word. The loop over bytes becomes
// vector instructions; the product gathers the lowest bits of eight bytes in its top byte.
std::uint64_t bits_in_words(const char* block) {
  std::array<std::uint8_t, kBlock> in;
  for (std::size_t i = 0; i < kBlock; ++i) in[i] = in_word(block[i]) ? 1 : 0;
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kBlock; i += 8) {
    bits |= ((load(&in[i]) * 0x0102040810204080) >> 56) << i;
  }
  return bits;
}

// Ones where the first `size` bytes of 16 are, from kMask + 16 - size.
constexpr std::array<std::uint8_t, 32> kMask = {255, 255, 255, 255, 255, 255, 255, 255,
                                                255, 255, 255, 255, 255, 255, 255, 255};

// Adds the words of one piece to a table.
class Counter {
 public:
  Counter(std::string_view piece, WordCounts& counts)
      : at_(piece.data()), end_(piece.data() + piece.size()), counts_(counts) {}

  void count() {
    for (; end_ - at_ >= std::ptrdiff_t{kBlock}; at_ += kBlock) {
      count_block(bits_in_words(at_));
    }
    std::array<char, kBlock> last;
    last.fill(' ');
    std::copy(at_, end_, last.begin());
    count_block(bits_in_words(last.data()));
    if (word_ != nullptr) add(word_, end_);
    for (std::size_t i = 0; i < std::min(met_, kWaiting); ++i) counts_.add(waiting_[i]);
  }

 private:
  // in: which bytes of the block at at_ are in words.
  void count_block(std::uint64_t in) {
    std::uint64_t edges = in ^ (in << 1 | (word_ != nullptr ? 1 : 0));
    const auto next_edge = [&] {
      const char* const edge = at_ + std::countr_zero(edges);
      edges &= edges - 1;
      return edge;
    };
    if (word_ != nullptr) {
      if (edges == 0) return;
      add(word_, next_edge());
      word_ = nullptr;
    }
    while (edges != 0) {
      const char* const begin = next_edge();
      if (edges == 0) {
        word_ = begin;
        return;
      }
      add(begin, next_edge());
    }
  }

  void add(const char* begin, const char* end) {
    const auto size = static_cast<std::size_t>(end - begin);
    if (size > WordCounts::kShort) return counts_.add({begin, size});
    std::array<char, WordCounts::kShort> near_end;
    if (end_ - begin < std::ptrdiff_t{WordCounts::kShort}) {
      std::copy(begin, end, near_end.begin());
      begin = near_end.data();
    }
    const std::uint8_t* const mask = kMask.data() + WordCounts::kShort - size;
    wait({load(begin) & load(mask), load(begin + 8) & load(mask + 8), size});
  }

  // Counts a word when some more have been met, and its slot has come from memory.
  void wait(const WordCounts::ShortWord& word) {
    counts_.prefetch(word);
    WordCounts::ShortWord& place = waiting_[met_++ % kWaiting];
    if (met_ > kWaiting) counts_.add(place);
    place = word;
  }

  const char* at_;
  const char* end_;
  const char* word_ = nullptr;  // that has begun before at_
  WordCounts& counts_;
  static constexpr std::size_t kWaiting = 16;
  std::array<WordCounts::ShortWord, kWaiting> waiting_;
  std::size_t met_ = 0;  // short words
};

}  // namespace

std::vector<std::string_view> cut_between_words(std::string_view text, std::size_t piece_bytes) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    std::size_t size = std::min(piece_bytes, text.size());
    while (size < text.size() && in_word(text[size])) ++size;
    pieces.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return pieces;
}

void count_words(std::string_view piece, WordCounts& counts) { Counter(piece, counts).count(); }

namespace {

Tally combined(Tally a, Tally b) {
  if (!a.counts) std::swap(a, b);
  if (!a.counts) a = combined({.counts = std::make_shared<WordCounts>()}, std::move(a));
  if (a.counts == b.counts) return a;
  if (b.counts) {
    *a.counts = merged(std::move(*a.counts), std::exchange(*b.counts, {}));
  } else {
    team::Reader in(b.bytes);
    a.counts->merge(in);
  }
  return a;
}

}  // namespace

WordCounts count_words(team::Team& team, std::span<const std::string_view> pieces) {
  std::mutex mutex;
  std::unordered_map<std::thread::id, Tally> tallies;
  const auto of_this_worker = [&] {
    const std::lock_guard lock(mutex);
    Tally& own = tallies[std::this_thread::get_id()];
    if (!own.counts) own.counts = std::make_shared<WordCounts>();
    return own;
  };
  const Tally all = team.map_reduce<Tally>(
      pieces.size(),
      [&](std::size_t i) {
        const Tally own = of_this_worker();
        count_words(pieces[i], *own.counts);
        return own;
      },
      Tally{std::make_shared<WordCounts>()}, combined);
  return std::move(*all.counts);
}

std::map<std::string, std::uint64_t> count_words_plain(std::string_view text) {
  std::map<std::string, std::uint64_t> counts;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) ++counts[word];
    word.clear();
  };
  for (const char c : text) {
    if (std::string_view(" \t\n\v\f\r").find(c) != std::string_view::npos)
      end_word();
    else
      word += c;
  }
  end_word();
  return counts;
}

}  // namespace tabane::workloads
