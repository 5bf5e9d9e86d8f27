// Counts the words of a text with a team: what stands between white space. Texts to count them of.
#pragma once

#include <sys/mman.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tabane/team/serialiser.h"
#include "tabane/team/team.h"

namespace tabane::workloads {

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

// How often words occur: a hash table made for counting them.
//
// A word of at most 16 bytes, and nearly all are, is in a slot of 32 bytes, found by the top bits
// of a hash and linear probing: counting it again touches one cache line, which can be fetched
// before. Slots hold the hash and no address, so tables grow and merge without looking at a word
// again; and as the slots are nearly in the order of the hashes, growing, merging and coming back
// from bytes walk through memory in order.
class WordCounts {
 public:
  // At most this many bytes fit into a slot.
  static constexpr std::size_t kShort = 16;
  // Bytes of a short word, the first one lowest; 0 behind its end.
  struct ShortWord {
    std::uint64_t low = 0, high = 0;
    std::size_t size = 0;  // 1 … kShort
  };
  using mapped_type = std::uint64_t;
  using Words = std::vector<std::pair<std::string_view, std::uint64_t>>;

  WordCounts() : slots_(kFewestSlots) {}
  WordCounts(std::initializer_list<Words::value_type> words) : WordCounts() {
    for (const auto& [word, count] : words) add(word, count);
  }

  std::size_t size() const { return short_words_ + long_words_.size(); }
  bool empty() const { return size() == 0; }

  // Adds to the count of a word that is not empty. count: > 0.
  void add(std::string_view word, std::uint64_t count = 1);
  void add(const ShortWord& word, std::uint64_t count = 1) {
    add({tag_of(word), count, word.low, word.high});
  }

  // Has the memory fetched that add(word) will use.
  void prefetch(const ShortWord& word) const { prefetch(tag_of(word)); }

  // Adds all of another table. cost: a few ns for each of its words. (Adding what words() of the
  // other gives would be quadratic: its order fills this table from one end.)
  void merge(const WordCounts& other);

  // Appends the table as bytes: for each short word its count and size in one integer, and the word
  // in one or two more.
  void put(team::Bytes& out) const;
  // Adds all of a table that was put. throws: std::out_of_range if bytes are missing.
  void merge(team::Reader& in);

  // In no order that means anything. The views point into the table.
  Words words() const;

 private:
  struct Slot {
    std::uint64_t tag = 0;  // the hash but for its last bits, which tell the size; 0: free
    std::uint64_t count = 0;
    std::uint64_t low = 0, high = 0;  // the word
  };
  static constexpr std::size_t kFewestSlots = 64;
  static constexpr int kSizeWidth = 5;
  static constexpr std::uint64_t kSizeBits = 31;

  static std::uint64_t tag_of(const ShortWord& word) {
    // The halves of a product, one upon the other. source: W. Yi, wyhash.
    __extension__ using Product = unsigned __int128;
    const Product product =
        Product{word.low ^ 0xa0761d6478bd642f} * (word.high ^ 0xe7037ed1a0b428db);
    const auto hash =
        static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    return (hash & ~kSizeBits) | word.size;
  }

  // Returns the first slot that is free or has this word.
  Slot& place(const Slot& word) {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = word.tag >> shift_;; at = (at + 1) & mask) {
      Slot& slot = slots_[at];
      const bool same = slot.tag == word.tag && slot.low == word.low && slot.high == word.high;
      if (slot.tag == 0 || same) return slot;
    }
  }
  void add(const Slot& word) {
    Slot& slot = place(word);
    if (slot.tag != 0) {
      slot.count += word.count;
      return;
    }
    slot = word;
    if (++short_words_ >= slots_.size() / 4 * 3) grow(2 * slots_.size());
  }
  void prefetch(std::uint64_t tag) const { __builtin_prefetch(&slots_[tag >> shift_], 1); }
  // Slots in the order of hashes fill this table's front before the rest: with room for all, the
  // front never becomes full.
  void reserve_to_merge(std::size_t words);
  void grow(std::size_t slots);

  std::vector<Slot, HugePages<Slot>> slots_;  // a power of two
  int shift_ = 64 - std::countr_zero(kFewestSlots);
  std::size_t short_words_ = 0;  // fewer than 3/4 of the slots
  std::unordered_map<std::string, std::uint64_t> long_words_;
};

// Pieces of text of about piece_bytes, > 0, cut between words; together they are the text.
std::vector<std::string_view> cut_between_words(std::string_view text, std::size_t piece_bytes);

// Adds the words of a piece.
void count_words(std::string_view piece, WordCounts& counts);

// Returns the counts of both. cost: a few ns for each word of the smaller.
WordCounts merged(WordCounts a, WordCounts b);

// Counts with a team; a task is a piece. throws: as Team::map_reduce().
WordCounts count_words(team::Team& team, std::span<const std::string_view> pieces);

// The slow plain version: one thread, one ordered map, character by character.
std::map<std::string, std::uint64_t> count_words_plain(std::string_view text);

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
inline WordDigest digest(const WordCounts& counts) { return digest(counts.words()); }

// ---- texts ----

// Text with the word frequencies of natural language (Zipf): rank r has weight 1 / r.
struct TextProblem {
  std::uint64_t bytes = std::uint64_t{64} << 20;
  std::uint32_t vocabulary = 50'000;  // different words, at most
  std::uint64_t seed = 1;
};
// Makes a text; the same problem gives the same one. throws: core::UsageError if the vocabulary is
// not from 1 to 10 million words.
// cost: about 5 ns a byte.
std::string generate_text(const TextProblem& problem);

// Reads all regular files below a directory in the order of their paths, with a line feed after
// each, so that no word reaches from one file into the next.
// throws: core::UsageError if it is no directory or has no file; core::SystemError naming a file.
std::string load_text(const std::filesystem::path& directory);

// The text in lower case, with a space for each byte that is no letter of ASCII: its words are the
// [A-Za-z]+ of the text, "don" and "t" of "Don't".
std::string letters_only(std::string text);

}  // namespace tabane::workloads

template <>
struct tabane::team::Serialiser<tabane::workloads::WordCounts> {
  using WordCounts = workloads::WordCounts;
  static void put(Bytes& out, const WordCounts& counts) { counts.put(out); }
  static WordCounts get(Reader& in) {
    WordCounts counts;
    counts.merge(in);
    return counts;
  }
};
