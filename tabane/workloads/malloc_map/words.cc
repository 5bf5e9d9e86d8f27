#include "tabane/workloads/malloc_map/words.h"

#include <algorithm>
#include <array>

namespace tabane::workloads::malloc_map {
namespace {

// For each byte: what it becomes inside a word; 0: it separates words.
using Letters = std::array<char, 256>;

constexpr Letters letters_of(WordRule rule) {
  Letters letters{};
  for (int c = 0; c < 256; ++c) {
    const bool lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z';
    const bool space = c == ' ' || (c >= '\t' && c <= '\r');
    const auto at = static_cast<std::size_t>(c);
    if (rule == WordRule::letters) {
      letters[at] = lower ? static_cast<char>(c) : upper ? static_cast<char>(c - 'A' + 'a') : '\0';
    } else {
      letters[at] = space ? '\0' : static_cast<char>(c);
    }
  }
  return letters;
}

constexpr Letters kLetters = letters_of(WordRule::letters);
constexpr Letters kNotSpaces = letters_of(WordRule::whitespace);

const Letters& letters(WordRule rule) { return rule == WordRule::letters ? kLetters : kNotSpaces; }

char letter(const Letters& table, char c) { return table[static_cast<unsigned char>(c)]; }

}  // namespace

std::vector<std::string_view> cut_between_words(std::string_view text, std::size_t piece_bytes,
                                                WordRule rule) {
  const Letters& table = letters(rule);
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    std::size_t size = std::min(piece_bytes, text.size());
    while (size < text.size() && letter(table, text[size]) != 0) ++size;
    pieces.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return pieces;
}

void count_words(std::string_view piece, WordRule rule, WordCounts& counts) {
  const Letters& table = letters(rule);
  std::string word;
  for (std::size_t i = 0; i < piece.size();) {
    const char first = letter(table, piece[i++]);
    if (first == 0) continue;
    word.assign(1, first);
    for (; i < piece.size(); ++i) {
      const char next = letter(table, piece[i]);
      if (next == 0) break;
      word.push_back(next);
    }
    const auto known = counts.find(std::string_view(word));
    if (known == counts.end()) {
      counts.emplace(word, 1);
    } else {
      ++known->second;
    }
  }
}

WordCounts merged(WordCounts a, WordCounts b) {
  if (a.size() < b.size()) a.swap(b);
  for (const auto& [word, count] : b) {
    const auto known = a.find(word);
    if (known != a.end()) known->second += count;
  }
  a.merge(b);  // what a does not have
  return a;
}

WordCounts count_words(team::Team& team, std::span<const std::string_view> pieces, WordRule rule) {
  return team.map_reduce<WordCounts>(
      pieces.size(),
      [&](std::size_t i) {
        WordCounts counts;
        count_words(pieces[i], rule, counts);
        return counts;
      },
      WordCounts(), [](WordCounts a, WordCounts b) { return merged(std::move(a), std::move(b)); });
}

}  // namespace tabane::workloads::malloc_map
