// The plain count of words, and the comparison with it.
#include <cctype>

#include "tabane/core/error.h"
#include "tabane/studies/process_thread/malloc_map/words.h"

namespace tabane::malloc_map {
namespace {

// By the values of ASCII: the library's isalpha() follows the locale.
bool is_in_word(char c, WordRule rule) {
  if (rule == WordRule::letters) return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  return c != ' ' && c != '\t' && c != '\n' && c != '\v' && c != '\f' && c != '\r';
}

std::uint64_t count_of(const WordCounts& counts, const std::string& word) {
  const auto found = counts.find(word);
  return found == counts.end() ? 0 : found->second;
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
    const std::uint64_t found = count_of(counts, word);
    if (found != count)
      throw core::VerificationError("how often the text has '" + word + "'",
                                    static_cast<double>(found), static_cast<double>(count));
  }
  for (const auto& [view, count] : counts) {
    const std::string word(view);
    if (!expected.contains(word))
      throw core::VerificationError("how often the text has '" + word + "'",
                                    static_cast<double>(count), 0);
  }
}

}  // namespace tabane::malloc_map
