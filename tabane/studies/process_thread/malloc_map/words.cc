#include "tabane/studies/process_thread/malloc_map/words.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "tabane/core/error.h"

namespace tabane::malloc_map {
namespace {

// What a worker has counted. All the pieces of a worker have the same, so that they need no merging
// and fill one table only. Bytes from another process wait here until they are merged: a table for
// them alone would be made in vain.
struct Tally {
  std::shared_ptr<WordCounts> counts;  // or
  team::Bytes bytes;
};

}  // namespace
}  // namespace tabane::malloc_map

template <>
struct tabane::team::Serialiser<tabane::malloc_map::Tally> {
  using Tally = malloc_map::Tally;
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

namespace tabane::malloc_map {
namespace {

constexpr std::size_t kBlock = 64;  // bytes, one for each bit of an integer

template <WordRule rule>
constexpr bool in_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (rule == WordRule::letters) return static_cast<unsigned char>((byte | 0x20) - 'a') < 26;
  return !(byte == ' ' || static_cast<unsigned char>(byte - '\t') < 5);
}

bool in_word(char c, WordRule rule) {
  return rule == WordRule::letters ? in_word<WordRule::letters>(c)
                                   : in_word<WordRule::whitespace>(c);
}

std::uint64_t load(const void* at) {
  std::uint64_t eight;
  std::memcpy(&eight, at, sizeof eight);
  return eight;
}

// Returns a bit for each byte of a block: whether it is part of a word. The loop over bytes becomes
// vector instructions; the product gathers the lowest bits of eight bytes in its top byte.
template <WordRule rule>
std::uint64_t bits_in_words(const char* block) {
  std::array<std::uint8_t, kBlock> in;
  for (std::size_t i = 0; i < kBlock; ++i) in[i] = in_word<rule>(block[i]) ? 1 : 0;
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
template <WordRule rule>
class Counter {
 public:
  Counter(std::string_view piece, WordTable& counts)
      : at_(piece.data()), end_(piece.data() + piece.size()), counts_(counts) {}

  void count() {
    for (; end_ - at_ >= std::ptrdiff_t{kBlock}; at_ += kBlock) {
      count_block(bits_in_words<rule>(at_));
    }
    std::array<char, kBlock> last;
    last.fill(' ');
    std::copy(at_, end_, last.begin());
    count_block(bits_in_words<rule>(last.data()));
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
    if (size > WordTable::kShort) return add_long({begin, size});
    std::array<char, WordTable::kShort> near_end;
    if (end_ - begin < std::ptrdiff_t{WordTable::kShort}) {
      std::copy(begin, end, near_end.begin());
      begin = near_end.data();
    }
    const std::uint8_t* const mask = kMask.data() + WordTable::kShort - size;
    wait({folded(load(begin)) & load(mask), folded(load(begin + 8)) & load(mask + 8), size});
  }

  // Counts a word when some more have been met, and its slot has come from memory.
  void wait(const WordTable::ShortWord& word) {
    counts_.prefetch(word);
    WordTable::ShortWord& place = waiting_[met_++ % kWaiting];
    if (met_ > kWaiting) counts_.add(place);
    place = word;
  }

  void add_long(std::string_view word) {
    if (rule != WordRule::letters) return counts_.add(word);
    lower_.resize(word.size());
    std::transform(word.begin(), word.end(), lower_.begin(),
                   [](char c) { return static_cast<char>(c | 0x20); });
    counts_.add(lower_);
  }

  // Lower-cases letters: bit 5 distinguishes the cases of ASCII.
  static std::uint64_t folded(std::uint64_t eight) {
    return rule == WordRule::letters ? eight | 0x2020202020202020 : eight;
  }

  const char* at_;
  const char* end_;
  const char* word_ = nullptr;  // that has begun before at_
  WordTable& counts_;
  std::string lower_;
  static constexpr std::size_t kWaiting = 16;
  std::array<WordTable::ShortWord, kWaiting> waiting_;
  std::size_t met_ = 0;  // short words
};

class TallyOfEachWorker {
 public:
  Tally of_this_worker() {
    const std::lock_guard lock(mutex_);
    Tally& own = tallies_[std::this_thread::get_id()];
    if (!own.counts) own.counts = std::make_shared<WordCounts>();
    return own;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<std::thread::id, Tally> tallies_;
};

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

std::vector<std::string_view> cut_between_words(std::string_view text, std::size_t piece_bytes,
                                                WordRule rule) {
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    std::size_t size = std::min(piece_bytes, text.size());
    while (size < text.size() && in_word(text[size], rule)) ++size;
    pieces.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return pieces;
}

void count_words(std::string_view piece, WordRule rule, WordCounts& counts) {
  if (rule == WordRule::letters) {
    Counter<WordRule::letters>(piece, counts).count();
  } else {
    Counter<WordRule::whitespace>(piece, counts).count();
  }
}

WordCounts merged(WordCounts a, WordCounts b) {
  if (a.size() < b.size()) std::swap(a, b);
  a.merge(b);
  return a;
}

WordCounts count_words(team::Team& team, std::span<const std::string_view> pieces, WordRule rule) {
  TallyOfEachWorker tallies;
  const Tally all = team.map_reduce<Tally>(
      pieces.size(),
      [&](std::size_t i) {
        const Tally own = tallies.of_this_worker();
        count_words(pieces[i], rule, *own.counts);
        return own;
      },
      Tally{std::make_shared<WordCounts>()}, combined);
  return std::move(*all.counts);
}

// ---- the plain count ----

namespace {

// By the values of ASCII: the library's isalpha() follows the locale.
bool is_in_word(char c, WordRule rule) {
  if (rule == WordRule::letters) return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  return c != ' ' && c != '\t' && c != '\n' && c != '\v' && c != '\f' && c != '\r';
}

}  // namespace

std::map<std::string, std::uint64_t> count_words_plain(std::string_view text, WordRule rule) {
  std::map<std::string, std::uint64_t> counts;
  std::string word;
  const auto end_word = [&] {
    if (!word.empty()) ++counts[word];
    word.clear();
  };
  for (const char c : text) {
    if (!is_in_word(c, rule)) {
      end_word();
    } else {
      const bool upper = rule == WordRule::letters && c >= 'A' && c <= 'Z';
      word += upper ? static_cast<char>(c + ('a' - 'A')) : c;
    }
  }
  end_word();
  return counts;
}

void verify(const std::map<std::string, std::uint64_t>& expected, const WordCounts& counts) {
  for (const auto& [word, count] : expected) {
    const std::uint64_t found = counts.count_of(word);
    if (found != count)
      throw core::VerificationError("how often the text has '" + word + "'",
                                    static_cast<double>(found), static_cast<double>(count));
  }
  for (const auto& [view, count] : counts.words()) {
    const std::string word(view);
    if (!expected.contains(word))
      throw core::VerificationError("how often the text has '" + word + "'",
                                    static_cast<double>(count), 0);
  }
}

}  // namespace tabane::malloc_map
