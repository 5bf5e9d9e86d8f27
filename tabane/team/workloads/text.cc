// Texts to count the words of, generated or from files.

#include <algorithm>
#include <numeric>
#include <system_error>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/random.h"
#include "tabane/team/workloads/words.h"

namespace tabane::workloads {
namespace {

// Draws an index with given weights in constant time. source: Vose, A Linear Algorithm for
// Generating Random Numbers with a Given Distribution, 1991 (alias method).
class WeightedDraw {
 public:
  explicit WeightedDraw(std::vector<double> weights)
      : keep_(weights.size(), UINT32_MAX), alias_(weights.size()) {
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<std::uint32_t> poor, rich;
    for (std::uint32_t i = 0; i < weights.size(); ++i) {
      weights[i] *= static_cast<double>(weights.size()) / total;
      (weights[i] < 1 ? poor : rich).push_back(i);
      alias_[i] = i;
    }
    while (!poor.empty() && !rich.empty()) {
      const std::uint32_t low = poor.back(), high = rich.back();
      poor.pop_back();
      keep_[low] = static_cast<std::uint32_t>(weights[low] * 0x1p32);
      alias_[low] = high;
      weights[high] -= 1 - weights[low];
      if (weights[high] >= 1) continue;
      rich.pop_back();
      poor.push_back(high);
    }
  }

  std::uint32_t operator()(core::SplitMix64& random) const {
    const std::uint64_t bits = random.next();
    const auto i = static_cast<std::uint32_t>(((bits >> 32) * keep_.size()) >> 32);
    return static_cast<std::uint32_t>(bits) < keep_[i] ? i : alias_[i];
  }

 private:
  std::vector<std::uint32_t> keep_;  // share of 2^32 that stays with the index
  std::vector<std::uint32_t> alias_;
};

// The word of a rank, counted from 0: frequent words are short. Written in letters of a number
// system with 20 syllables after a random last letter, so that different ranks differ.
std::string word_of_rank(std::uint32_t rank, core::SplitMix64& random) {
  static constexpr const char* kSyllables[] = {"a",  "e",  "ra", "no", "ti", "se", "lu",
                                               "ko", "mi", "da", "be", "fo", "gu", "hy",
                                               "pe", "va", "wi", "xo", "za", "qu"};
  std::string word;
  for (std::uint32_t left = rank + 1; left > 0; left = (left - 1) / 20)
    word += kSyllables[(left - 1) % 20];
  if (random.below(2) == 0) word += "nstr"[random.below(4)];
  return word;
}

struct Vocabulary {
  std::string letters;                // all words, one after the other
  std::vector<std::uint32_t> begins;  // one more than words
};

Vocabulary make_vocabulary(const TextProblem& problem) {
  Vocabulary all;
  core::SplitMix64 random(problem.seed, 0);
  for (std::uint32_t rank = 0; rank < problem.vocabulary; ++rank) {
    all.begins.push_back(static_cast<std::uint32_t>(all.letters.size()));
    all.letters += word_of_rank(rank, random);
  }
  all.begins.push_back(static_cast<std::uint32_t>(all.letters.size()));
  return all;
}

std::vector<double> zipf_weights(std::uint32_t count) {
  std::vector<double> weights(count);
  for (std::uint32_t i = 0; i < count; ++i) weights[i] = 1.0 / (i + 1);
  return weights;
}

// What follows a word: mostly a space, sometimes punctuation, and lines of about 12 words.
std::string_view separator(std::uint64_t drawn) {
  constexpr std::string_view kRare[] = {".\n", "\n", ", ", ", ", " - "};
  const std::uint64_t kind = drawn % 24;
  return kind < std::size(kRare) ? kRare[kind] : " ";
}

}  // namespace

std::string generate_text(const TextProblem& problem) {
  if (problem.vocabulary < 1 || problem.vocabulary > 10'000'000)
    throw core::UsageError("vocabulary {}: use 1 to 10000000 words", problem.vocabulary);
  const Vocabulary vocabulary = make_vocabulary(problem);
  const WeightedDraw draw(zipf_weights(problem.vocabulary));
  core::SplitMix64 random(problem.seed, 1);
  std::string text;
  text.reserve(problem.bytes);
  bool begins_sentence = true;
  while (text.size() < problem.bytes) {
    const std::uint32_t word = draw(random);
    const std::uint32_t begin = vocabulary.begins[word], end = vocabulary.begins[word + 1];
    const std::string_view after = separator(random.next() >> 32);
    const std::size_t left = problem.bytes - text.size();
    if (end - begin + after.size() > left) {
      text.append(left, '\n');
      break;
    }
    const std::size_t at = text.size();
    text.append(vocabulary.letters, begin, end - begin).append(after);
    if (begins_sentence) text[at] = static_cast<char>(text[at] - 'a' + 'A');
    begins_sentence = after[0] == '.';
  }
  return text;
}

std::string load_text(const std::filesystem::path& directory) {
  std::error_code failed;
  if (!std::filesystem::is_directory(directory, failed))
    throw core::UsageError(directory.string() + " is not a directory of text files");
  std::vector<std::filesystem::path> files;
  using Walk = std::filesystem::recursive_directory_iterator;
  for (Walk at(directory, failed), end; !failed && at != end; at.increment(failed)) {
    if (at->is_regular_file()) files.push_back(at->path());
  }
  if (failed) throw core::SystemError("readdir", directory.string(), failed.value());
  if (files.empty()) throw core::UsageError(directory.string() + " has no files");
  std::ranges::sort(files);
  std::string text;
  for (const auto& file : files) text.append(core::read_file(file)).push_back('\n');
  return text;
}

std::string letters_only(std::string text) {
  for (char& c : text) {
    const auto lower = static_cast<char>(c | 0x20);
    c = lower >= 'a' && lower <= 'z' ? lower : ' ';
  }
  return text;
}

}  // namespace tabane::workloads
