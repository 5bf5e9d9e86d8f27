// Counts the words of a text in memory; texts to count them of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/studies/process_thread/malloc_map/word_table.h"
#include "tabane/team/team.h"

namespace tabane::malloc_map {

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
inline WordDigest digest(const WordCounts& counts) { return digest(counts.words()); }

// ---- texts ----

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
