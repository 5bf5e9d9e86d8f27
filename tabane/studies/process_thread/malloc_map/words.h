// Counts the words of a text in memory.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <map>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tabane/team/serialiser.h"
#include "tabane/team/team.h"

namespace tabane::malloc_map {

// ---- the table ----

static_assert(std::endian::native == std::endian::little,
              "the first byte of a word is the lowest of an integer");

// Allocates what is large in huge pages, if the system grants them: tables are touched all over.
template <class T>
struct HugePages {
  using value_type = T;
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;

  HugePages() = default;
  template <class U>
  HugePages(const HugePages<U>&) {}
  T* allocate(std::size_t n) {
    const std::align_val_t alignment = alignment_of(n);
    void* const memory = ::operator new(n * sizeof(T), alignment);
    if (n * sizeof(T) >= kHugePage) madvise(memory, n * sizeof(T), MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t n) { ::operator delete(memory, alignment_of(n)); }
  bool operator==(const HugePages&) const = default;

 private:
  static std::align_val_t alignment_of(std::size_t n) {
    return std::align_val_t{n * sizeof(T) < kHugePage ? std::size_t{64} : kHugePage};
  }
};

// Counts of words: a hash table made for counting them.
//
// Slots of 32 bytes in one array, found by the top bits of a hash and linear probing. A word of at
// most 16 bytes, and nearly all are, is stored in its slot: counting it again touches one cache
// line. Longer words are one after the other in an array of their own. Slots hold the hash and no
// address, so tables grow and merge without looking at a word again; and as the slots are nearly in
// the order of the hashes, growing, merging and coming back from bytes walk through memory in
// order.
class WordTable {
 public:
  class Iterator;
  using mapped_type = std::uint64_t;
  using value_type = std::pair<std::string_view, std::uint64_t>;

  // At most this many bytes fit into a slot.
  static constexpr std::size_t kShort = 16;
  // Bytes of a short word, the first one lowest; 0 behind its end.
  struct ShortWord {
    std::uint64_t low = 0, high = 0;
    std::size_t size = 0;  // 1 … kShort
  };

  WordTable() : slots_(kFewestSlots) {}
  WordTable(std::initializer_list<value_type> words);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  // Adds to the count of a word that is not empty. count: > 0.
  void add(std::string_view word, std::uint64_t count = 1);
  void add(const ShortWord& word, std::uint64_t count = 1);

  // Has the memory fetched that add(word) will use.
  void prefetch(const ShortWord& word) const { prefetch(tag_of(word)); }

  // Adds all of another table. cost: a few ns for each of its words. (Adding what an iteration
  // over the other gives would be quadratic: its order fills this table from one end.)
  void merge(const WordTable& other);

  // Appends the table as bytes: for each word its count and size in one integer, and the word in
  // one or two more, or its size and letters if it is long.
  void put(team::Bytes& out) const;
  // Adds all of a table that was put. throws: std::out_of_range if bytes are missing.
  void merge(team::Reader& in);

  Iterator find(std::string_view word) const;
  bool contains(std::string_view word) const;

  // In no order that means anything. The views point into the table.
  Iterator begin() const;
  Iterator end() const;

 private:
  struct Slot {
    std::uint64_t tag = 0;  // the hash but for its last bits, which tell the size; 0: free
    std::uint64_t count = 0;
    std::uint64_t low = 0, high = 0;  // the word, or where in long_words_ it is and its size
  };
  static constexpr std::size_t kFewestSlots = 64;
  static constexpr int kSizeWidth = 5;
  static constexpr std::uint64_t kSizeBits = 31;

  static bool is_long(const Slot& slot) { return (slot.tag & kSizeBits) > kShort; }
  static ShortWord short_word(std::string_view word);
  static std::uint64_t tag_of(const ShortWord& word);
  static std::uint64_t tag_of_long(std::string_view word);

  std::string_view word_in(const Slot& slot) const;
  // Returns the place of the first slot that is free or has this tag and fits.
  template <class Fits>
  std::size_t place(std::uint64_t tag, Fits fits) const;
  std::size_t place(const ShortWord& word, std::uint64_t tag) const;
  std::size_t place(std::string_view word, std::uint64_t tag) const;
  // Fills a free slot.
  void occupy(std::size_t at, const Slot& slot);
  void append_long(Slot& slot, std::string_view word);
  void add_slot(const Slot& slot, const char* long_words);
  void reserve_to_merge(std::size_t words);
  void prefetch(std::uint64_t tag) const { __builtin_prefetch(&slots_[tag >> shift_], 1); }
  // Puts a slot, whose word the table does not have, where it belongs; does not count it.
  void place_new(const Slot& slot);
  void reserve(std::size_t words);
  void grow(std::size_t slots);

  std::vector<Slot, HugePages<Slot>> slots_;  // a power of two
  int shift_ = 64 - std::countr_zero(kFewestSlots);
  std::size_t size_ = 0;  // <= 3/4 of the slots
  std::vector<char> long_words_;
};

class WordTable::Iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = WordTable::value_type;
  using difference_type = std::ptrdiff_t;
  using reference = value_type;
  struct pointer {
    value_type value;
    const value_type* operator->() const { return &value; }
  };

  reference operator*() const { return {table_->word_in(slot()), slot().count}; }
  pointer operator->() const { return {**this}; }
  Iterator& operator++() {
    ++at_;
    skip_free();
    return *this;
  }
  Iterator operator++(int) {
    const Iterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Iterator&) const = default;

 private:
  friend class WordTable;
  Iterator(const WordTable* table, std::size_t at) : table_(table), at_(at) { skip_free(); }
  const Slot& slot() const { return table_->slots_[at_]; }
  void skip_free() {
    while (at_ < table_->slots_.size() && slot().tag == 0) ++at_;
  }

  const WordTable* table_;
  std::size_t at_;
};

inline WordTable::Iterator WordTable::begin() const { return {this, 0}; }
inline WordTable::Iterator WordTable::end() const { return {this, slots_.size()}; }

// The product's halves, one upon the other. source: W. Yi, wyhash.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  __extension__ using Product = unsigned __int128;
  const Product product = Product{a} * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

inline std::uint64_t WordTable::tag_of(const ShortWord& word) {
  const std::uint64_t hash = mix(word.low ^ 0xa0761d6478bd642f, word.high ^ 0xe7037ed1a0b428db);
  return (hash & ~kSizeBits) | word.size;
}

template <class Fits>
std::size_t WordTable::place(std::uint64_t tag, Fits fits) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = tag >> shift_;; at = (at + 1) & mask) {
    const Slot& slot = slots_[at];
    if (slot.tag == 0 || (slot.tag == tag && fits(slot))) return at;
  }
}

inline std::size_t WordTable::place(const ShortWord& word, std::uint64_t tag) const {
  return place(tag,
               [&](const Slot& slot) { return slot.low == word.low && slot.high == word.high; });
}

inline void WordTable::add(const ShortWord& word, std::uint64_t count) {
  const std::uint64_t tag = tag_of(word);
  const std::size_t at = place(word, tag);
  if (slots_[at].tag == 0) {
    occupy(at, {tag, count, word.low, word.high});
  } else {
    slots_[at].count += count;
  }
}

inline WordTable::WordTable(std::initializer_list<value_type> words) : WordTable() {
  for (const auto& [word, count] : words) add(word, count);
}

inline WordTable::ShortWord WordTable::short_word(std::string_view word) {
  ShortWord found{.size = word.size()};
  std::memcpy(&found.low, word.data(), std::min<std::size_t>(8, word.size()));
  if (word.size() > 8) std::memcpy(&found.high, word.data() + 8, word.size() - 8);
  return found;
}

inline std::uint64_t WordTable::tag_of_long(std::string_view word) {
  std::uint64_t hash = word.size();
  for (; !word.empty(); word.remove_prefix(std::min<std::size_t>(8, word.size()))) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, word.data(), std::min<std::size_t>(8, word.size()));
    hash = mix(hash ^ eight ^ 0xa0761d6478bd642f, 0xe7037ed1a0b428db);
  }
  return (hash & ~kSizeBits) | (kShort + 1);
}

inline std::string_view WordTable::word_in(const Slot& slot) const {
  if (is_long(slot)) return {long_words_.data() + slot.low, slot.high};
  return {reinterpret_cast<const char*>(&slot.low), slot.tag & kSizeBits};
}

inline std::size_t WordTable::place(std::string_view word, std::uint64_t tag) const {
  return place(tag, [&](const Slot& slot) { return word_in(slot) == word; });
}

inline void WordTable::occupy(std::size_t at, const Slot& slot) {
  slots_[at] = slot;
  ++size_;
  reserve(size_ + 1);
}

inline void WordTable::append_long(Slot& slot, std::string_view word) {
  slot.low = long_words_.size();
  slot.high = word.size();
  long_words_.insert(long_words_.end(), word.begin(), word.end());
}

inline void WordTable::add(std::string_view word, std::uint64_t count) {
  if (word.size() <= kShort) return add(short_word(word), count);
  const std::uint64_t tag = tag_of_long(word);
  const std::size_t at = place(word, tag);
  if (slots_[at].tag != 0) {
    slots_[at].count += count;
    return;
  }
  Slot slot{.tag = tag, .count = count};
  append_long(slot, word);
  occupy(at, slot);
}

// Adds a slot of another table, whose long words are at long_words.
inline void WordTable::add_slot(const Slot& other, const char* long_words) {
  Slot slot = other;
  std::size_t at;
  if (is_long(other)) {
    const std::string_view word(long_words + other.low, other.high);
    at = place(word, other.tag);
    if (slots_[at].tag == 0) append_long(slot, word);
  } else {
    at = place(ShortWord{other.low, other.high}, other.tag);
  }
  if (slots_[at].tag == 0) {
    occupy(at, slot);
  } else {
    slots_[at].count += other.count;
  }
}

// Slots in the order of hashes fill this table's front before the rest: with room for all, the
// front never becomes full.
inline void WordTable::reserve_to_merge(std::size_t words) {
  const std::size_t all = size_ + words;
  if (all > slots_.size() / 8 * 7) grow(std::bit_ceil(all + all / 7 + 1));
}

inline void WordTable::merge(const WordTable& other) {
  reserve_to_merge(other.size_);
  constexpr std::size_t kAhead = 32;
  for (std::size_t i = 0; i < other.slots_.size(); ++i) {
    if (i + kAhead < other.slots_.size()) prefetch(other.slots_[i + kAhead].tag);
    if (other.slots_[i].tag != 0) add_slot(other.slots_[i], other.long_words_.data());
  }
}

inline void WordTable::put(team::Bytes& out) const {
  team::put_value(out, std::uint64_t{size_});
  const std::size_t begin = out.size();
  out.resize(begin + size_ * 3 * sizeof(std::uint64_t) + long_words_.size());
  std::byte* to = out.data() + begin;
  const auto copy = [&](const void* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
    to += bytes;
  };
  for (const Slot& slot : slots_) {
    if (slot.tag == 0) continue;
    const std::uint64_t size = slot.tag & kSizeBits, head = slot.count << kSizeWidth | size;
    copy(&head, sizeof head);
    if (is_long(slot)) {
      copy(&slot.high, sizeof slot.high);
      copy(long_words_.data() + slot.low, slot.high);
    } else {
      copy(&slot.low, 8);
      if (size > 8) copy(&slot.high, 8);
    }
  }
  out.resize(static_cast<std::size_t>(to - out.data()));
}

inline void WordTable::merge(team::Reader& in) {
  const auto words = team::get_value<std::uint64_t>(in);
  if (words > in.left() / (2 * sizeof(std::uint64_t))) {
    throw std::out_of_range("a table of words ends too early");
  }
  reserve_to_merge(words);
  for (std::uint64_t i = 0; i < words; ++i) {
    const auto head = team::get_value<std::uint64_t>(in);
    const std::uint64_t count = head >> kSizeWidth, size = head & kSizeBits;
    const auto low = team::get_value<std::uint64_t>(in);
    if (size > kShort) {
      add({reinterpret_cast<const char*>(in.take(low).data()), low}, count);
    } else {
      add(ShortWord{low, size > 8 ? team::get_value<std::uint64_t>(in) : 0, size}, count);
    }
  }
}

inline WordTable::Iterator WordTable::find(std::string_view word) const {
  if (word.empty()) return end();
  const std::size_t at = word.size() > kShort ? place(word, tag_of_long(word))
                                              : place(short_word(word), tag_of(short_word(word)));
  return slots_[at].tag == 0 ? end() : Iterator(this, at);
}

inline bool WordTable::contains(std::string_view word) const { return find(word) != end(); }

inline void WordTable::reserve(std::size_t words) {
  if (words > slots_.size() / 4 * 3) grow(std::bit_ceil(words + words / 3 + 1));
}

inline void WordTable::grow(std::size_t slots) {
  decltype(slots_) old(slots);
  old.swap(slots_);
  shift_ = 64 - std::countr_zero(slots);
  for (const Slot& slot : old) {
    if (slot.tag != 0) place_new(slot);
  }
}

inline void WordTable::place_new(const Slot& slot) {
  slots_[place(slot.tag, [](const Slot&) { return false; })] = slot;
}

// ---- counting ----

using WordCounts = WordTable;

// What counts as a word.
enum class WordRule {
  letters,     // [A-Za-z]+, lower-cased: "Don't" is "don" and "t"
  whitespace,  // whatever stands between white space, as it is
};

// Pieces of text of about piece_bytes, > 0, cut between words; together they are the text.
std::vector<std::string_view> cut_between_words(std::string_view text, std::size_t piece_bytes,
                                                WordRule rule);

// Adds the words of a piece.
void count_words(std::string_view piece, WordRule rule, WordCounts& counts);

// Returns the counts of both. cost: a few ns for each word of the smaller.
WordCounts merged(WordCounts a, WordCounts b);

// Counts with a team; a task is a piece. throws: as Team::map_reduce().
WordCounts count_words(team::Team& team, std::span<const std::string_view> pieces, WordRule rule);

// The slow plain version: one thread, one ordered map, character by character.
std::map<std::string, std::uint64_t> count_words_plain(std::string_view text, WordRule rule);

// Compares word by word. throws: core::VerificationError naming the first word that differs.
void verify(const std::map<std::string, std::uint64_t>& expected, const WordCounts& counts);

// What two equal counts have in common and different ones hardly: words, different words, and a sum
// over the words that does not depend on their order. Cheap to keep where the counts are not.
struct WordDigest {
  std::uint64_t words = 0, distinct = 0, sum = 0;
  bool operator==(const WordDigest&) const = default;
};
template <class Counts>
WordDigest digest(const Counts& counts) {
  WordDigest all;
  for (const auto& [word, count] : counts) {
    all.words += count;
    ++all.distinct;
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (const char c : word) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    all.sum += hash * count;
  }
  return all;
}

// Text with the word frequencies of natural language (Zipf): rank r has weight 1 / r.
struct CorpusProblem {
  std::uint64_t bytes = std::uint64_t{64} << 20;
  std::uint32_t vocabulary = 50'000;  // different words, at most
  std::uint64_t seed = 1;
};
// Makes a text; the same problem gives the same one. throws: core::UsageError if the vocabulary is
// not from 1 to 10 million words.
// cost: about 5 ns a byte.
std::string generate_corpus(const CorpusProblem& problem);

// Reads all regular files below a directory in the order of their paths, with a line feed after
// each, so that no word reaches from one file into the next.
// throws: core::UsageError if it is no directory or has no file; core::SystemError naming a file.
std::string load_corpus(const std::filesystem::path& directory);

}  // namespace tabane::malloc_map

template <>
struct tabane::team::Serialiser<tabane::malloc_map::WordTable> {
  using WordTable = malloc_map::WordTable;
  static void put(Bytes& out, const WordTable& table) { table.put(out); }
  static WordTable get(Reader& in) {
    WordTable table;
    table.merge(in);
    return table;
  }
};
