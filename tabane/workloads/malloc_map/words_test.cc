#include "tabane/workloads/malloc_map/words.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "tabane/core/error.h"

namespace tabane::workloads::malloc_map {
namespace {

namespace fs = std::filesystem;
using Plain = std::map<std::string, std::uint64_t>;

constexpr WordRule kRules[] = {WordRule::letters, WordRule::whitespace};

Plain ordered(const WordCounts& counts) { return {counts.begin(), counts.end()}; }

class Directory : public ::testing::Test {
 protected:
  Directory() {
    std::string name = fs::temp_directory_path() / "tabane-test-XXXXXX";
    path_ = mkdtemp(name.data());
  }
  ~Directory() override { fs::remove_all(path_); }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  fs::path path_;
};
using Words = Directory;
using Corpus = Directory;

TEST(CountWords, LettersAreLowerCasedAndAllElseSeparates) {
  const std::string text = "Don't  stop, DON'T\nstop2go \xc3\xa9t\xc3\xa9";
  const Plain expected = {{"don", 2}, {"go", 1}, {"stop", 2}, {"t", 3}};
  WordCounts counts;
  count_words(text, WordRule::letters, counts);
  EXPECT_EQ(ordered(counts), expected);
  EXPECT_EQ(count_words_plain(text, WordRule::letters), expected);
}

TEST(CountWords, WhitespaceKeepsEverythingElse) {
  const std::string text = "\tDon't  stop, DON'T\nstop,";
  const Plain expected = {{"DON'T", 1}, {"Don't", 1}, {"stop,", 2}};
  WordCounts counts;
  count_words(text, WordRule::whitespace, counts);
  EXPECT_EQ(ordered(counts), expected);
  EXPECT_EQ(count_words_plain(text, WordRule::whitespace), expected);
}

TEST(CountWords, TextWithoutWordsHasNone) {
  for (const char* text : {"", " ", "\n\n \t"}) {
    WordCounts counts;
    count_words(text, WordRule::whitespace, counts);
    EXPECT_TRUE(counts.empty());
    EXPECT_TRUE(count_words_plain(text, WordRule::whitespace).empty());
  }
}

TEST(CutBetweenWords, PiecesTogetherAreTheTextAndNoWordIsCut) {
  const std::string text = generate_corpus({.bytes = 5003, .vocabulary = 200});
  for (WordRule rule : kRules) {
    for (std::size_t piece : {1, 7, 1000, 5003, 100000}) {
      std::string joined;
      WordCounts counts;
      for (std::string_view part : cut_between_words(text, piece, rule)) {
        EXPECT_FALSE(part.empty());
        joined += part;
        count_words(part, rule, counts);
      }
      EXPECT_EQ(joined, text);
      EXPECT_EQ(ordered(counts), count_words_plain(text, rule));
    }
  }
  EXPECT_TRUE(cut_between_words("", 10, WordRule::letters).empty());
}

TEST(CutBetweenWords, WordLongerThanAPieceStaysWhole) {
  const auto pieces = cut_between_words("aa bbbbbbbb cc", 4, WordRule::letters);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0], "aa bbbbbbbb");
}

TEST(Merged, AddsWhatBothHave) {
  const WordCounts a = {{"x", 1}, {"y", 2}}, b = {{"y", 3}, {"z", 4}, {"w", 5}};
  const Plain expected = {{"w", 5}, {"x", 1}, {"y", 5}, {"z", 4}};
  EXPECT_EQ(ordered(merged(a, b)), expected);
  EXPECT_EQ(ordered(merged(b, a)), expected);
  EXPECT_EQ(ordered(merged(a, {})), ordered(a));
}

TEST(CountWords, TeamOfAnyShapeCountsAsThePlainVersion) {
  const std::string text = generate_corpus({.bytes = 200'001, .vocabulary = 3000});
  for (WordRule rule : kRules) {
    const Plain expected = count_words_plain(text, rule);
    const auto pieces = cut_between_words(text, 9001, rule);
    for (const auto& [processes, threads] : {std::pair{1, 1}, {1, 2}, {2, 1}, {2, 2}, {5, 1}}) {
      team::Team team({.processes = processes, .threads = threads});
      const WordCounts counts = count_words(team, pieces, rule);
      EXPECT_NO_THROW(verify(expected, counts)) << processes << " x " << threads;
      EXPECT_EQ(digest(counts), digest(expected));
    }
  }
}

TEST(CountWords, TeamWithoutPiecesCountsNothing) {
  team::Team team({.processes = 2, .threads = 1});
  EXPECT_TRUE(count_words(team, {}, WordRule::letters).empty());
}

TEST(Verify, NamesTheWordThatDiffers) {
  const Plain expected = {{"a", 1}, {"b", 2}};
  const auto fails_with = [&](const WordCounts& counts, const std::string& word) {
    try {
      verify(expected, counts);
      ADD_FAILURE() << "no exception";
    } catch (const core::VerificationError& error) {
      EXPECT_NE(std::string(error.what()).find("'" + word + "'"), std::string::npos)
          << error.what();
    }
  };
  fails_with({{"a", 1}, {"b", 3}}, "b");
  fails_with({{"b", 2}}, "a");
  fails_with({{"a", 1}, {"b", 2}, {"c", 1}}, "c");
  EXPECT_NO_THROW(verify(expected, {{"b", 2}, {"a", 1}}));
}

TEST(Digest, TellsCountsApart) {
  const Plain counts = {{"a", 1}, {"b", 2}};
  EXPECT_EQ(digest(counts).words, 3u);
  EXPECT_EQ(digest(counts).distinct, 2u);
  EXPECT_NE(digest(counts), digest(Plain{{"a", 2}, {"b", 1}}));
  EXPECT_NE(digest(counts), digest(Plain{{"a", 1}, {"c", 2}}));
}

// Counts with the system's tools.
Plain counted_by_sort_and_uniq(const fs::path& file, WordRule rule) {
  const std::string split = rule == WordRule::letters ? "tr -cs A-Za-z '\\n' | tr A-Z a-z"
                                                      : "tr -s ' \\t\\n\\v\\f\\r' '\\n'";
  const std::string command =
      "export LC_ALL=C; < '" + file.string() + "' " + split + " | sed '/^$/d' | sort | uniq -c";
  Plain counts;
  FILE* out = popen(command.c_str(), "r");
  if (out == nullptr) return counts;
  unsigned long count = 0;
  char word[256];
  while (std::fscanf(out, "%lu %255s", &count, word) == 2) counts[word] = count;
  pclose(out);
  return counts;
}

TEST_F(Words, AreThoseOfSortAndUniq) {
  const std::string text = generate_corpus({.bytes = 300'007, .vocabulary = 5000}) + "Don't 2x Z";
  write("text", text);
  for (WordRule rule : kRules) {
    const Plain expected = counted_by_sort_and_uniq(path_ / "text", rule);
    ASSERT_GT(expected.size(), 1000u);
    team::Team team({.processes = 2, .threads = 1});
    const WordCounts counts = count_words(team, cut_between_words(text, 10'000, rule), rule);
    EXPECT_EQ(ordered(counts), expected);
  }
}

TEST(GenerateCorpus, HasTheSizeAskedForAndIsReproducible) {
  for (std::uint64_t bytes : {0, 1, 2, 100, 10'001}) {
    const std::string text = generate_corpus({.bytes = bytes});
    EXPECT_EQ(text.size(), bytes);
    EXPECT_EQ(text, generate_corpus({.bytes = bytes}));
  }
  EXPECT_NE(generate_corpus({.bytes = 1000, .seed = 1}),
            generate_corpus({.bytes = 1000, .seed = 2}));
}

TEST(GenerateCorpus, FrequenciesFallAsZipfSays) {
  const Plain counts = count_words_plain(generate_corpus({.bytes = 2'000'000, .vocabulary = 1000}),
                                         WordRule::letters);
  EXPECT_LE(counts.size(), 1000u);
  EXPECT_GT(counts.size(), 950u);
  std::vector<double> frequencies;
  for (const auto& [word, count] : counts) frequencies.push_back(static_cast<double>(count));
  std::sort(frequencies.rbegin(), frequencies.rend());
  EXPECT_NEAR(frequencies[0] / frequencies[9], 10, 1);
  EXPECT_NEAR(frequencies[0] / frequencies[99], 100, 15);
}

TEST(GenerateCorpus, VocabularyOfOneIsOneWord) {
  EXPECT_EQ(
      count_words_plain(generate_corpus({.bytes = 500, .vocabulary = 1}), WordRule::letters).size(),
      1u);
  EXPECT_THROW(generate_corpus({.vocabulary = 0}), core::UsageError);
}

TEST_F(Corpus, FilesAreReadInOrderAndTheirWordsStayApart) {
  write("b", "last");
  write("a/2", "two");
  write("a/1", "one\n");
  write("empty", "");
  EXPECT_EQ(load_corpus(path_), "one\n\ntwo\nlast\n\n");
}

TEST_F(Corpus, RefusesWhatIsNoDirectoryOfFiles) {
  EXPECT_THROW(load_corpus(path_), core::UsageError);
  EXPECT_THROW(load_corpus(path_ / "nowhere"), core::UsageError);
  write("file", "x");
  EXPECT_THROW(load_corpus(path_ / "file"), core::UsageError);
}

}  // namespace
}  // namespace tabane::workloads::malloc_map
