#include "tabane/team/workloads/words.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"

namespace tabane::workloads {
namespace {

namespace fs = std::filesystem;
using Plain = std::map<std::string, std::uint64_t>;

Plain ordered(const WordCounts& counts) {
  const WordCounts::Words words = counts.words();
  return {words.begin(), words.end()};
}

class Directory : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    core::write_file(path_ / name, text);
  }
  const core::ScratchFolder folder_{"tabane-test"};
  const fs::path path_ = folder_.path();
};
// A text as it is, and with its letters only.
std::vector<std::string> both(const std::string& text) { return {text, letters_only(text)}; }

using Words = Directory;
using LoadText = Directory;

TEST(CountWords, LettersAreLowerCasedAndAllElseSeparates) {
  const std::string text = "Don't  stop, DON'T\nstop2go \xc3\xa9t\xc3\xa9";
  const Plain expected = {{"don", 2}, {"go", 1}, {"stop", 2}, {"t", 3}};
  WordCounts counts;
  count_words(letters_only(text), counts);
  EXPECT_EQ(ordered(counts), expected);
  EXPECT_EQ(count_words_plain(letters_only(text)), expected);
}

TEST(CountWords, WhitespaceKeepsEverythingElse) {
  const std::string text = "\tDon't  stop, DON'T\nstop,";
  const Plain expected = {{"DON'T", 1}, {"Don't", 1}, {"stop,", 2}};
  WordCounts counts;
  count_words(text, counts);
  EXPECT_EQ(ordered(counts), expected);
  EXPECT_EQ(count_words_plain(text), expected);
}

TEST(CountWords, TextWithoutWordsHasNone) {
  for (const char* text : {"", " ", "\n\n \t"}) {
    WordCounts counts;
    count_words(text, counts);
    EXPECT_TRUE(counts.empty());
    EXPECT_TRUE(count_words_plain(text).empty());
  }
}

TEST(CountWords, NulIsPartOfAWordBetweenWhiteSpaceAndNoLetter) {
  using namespace std::string_literals;
  const std::string text = "a a\0 a\0\0 \0 a\0b a"s;
  WordCounts between_spaces, letters;
  count_words(text, between_spaces);
  EXPECT_EQ(ordered(between_spaces),
            (Plain{{"a", 2}, {"a\0"s, 1}, {"a\0\0"s, 1}, {"\0"s, 1}, {"a\0b"s, 1}}));
  count_words(letters_only(text), letters);
  EXPECT_EQ(ordered(letters), (Plain{{"a", 5}, {"b", 1}}));
}

TEST(CountWords, EveryByteIsOnTheSideThatThePlainVersionSays) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += {'x', static_cast<char>(c), 'Y', ' '};
  for (const std::string& text : both(all)) {
    WordCounts counts;
    count_words(text, counts);
    EXPECT_EQ(ordered(counts), count_words_plain(text));
  }
}

TEST(LettersOnly, KeepsThoseOfAsciiInLowerCaseAndThePlaceOfTheOthers) {
  for (int c = 0; c < 256; ++c) {
    const bool upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z';
    EXPECT_EQ(letters_only({static_cast<char>(c)})[0], upper   ? c - 'A' + 'a'
                                                       : lower ? c
                                                               : ' ')
        << c;
  }
}

// Text of `size` bytes: words of 1 … longest bytes of any value, and a few white spaces.
std::string random_text(std::mt19937& random, std::size_t size, std::size_t longest) {
  std::string text;
  while (text.size() < size) {
    const bool few_values = random() % 2 == 0;
    for (std::size_t n = 1 + random() % longest; n > 0; --n) {
      text += static_cast<char>(few_values ? "aAbZ\0z{@[`"[random() % 10] : random() % 256);
    }
    for (std::size_t n = 1 + random() % 3; n > 0; --n) text += " \t\n\v\f\r"[random() % 6];
  }
  text.resize(size);
  return text;
}

TEST(CountWords, IsThePlainVersionOnRandomTextsOfEverySize) {
  std::mt19937 random(1);
  for (std::size_t size = 0; size < 300; ++size) {
    for (const std::string& text : both(random_text(random, size, 1 + size % 40))) {
      // Of its own, so that a sanitizer sees what is read behind the end.
      const std::vector<char> piece(text.begin(), text.end());
      WordCounts counts;
      count_words({piece.data(), piece.size()}, counts);
      ASSERT_EQ(ordered(counts), count_words_plain(text)) << size;
    }
  }
}

TEST(CountWords, WordsOfEveryLengthAtEveryPlaceOfABlock) {
  for (std::size_t before = 0; before < 70; ++before) {
    std::string text(before, ' ');
    for (const std::size_t size : {1, 7, 8, 9, 15, 16, 17, 63, 64, 65, 129}) {
      text += std::string(size, 'Q') + ' ';
    }
    WordCounts counts;
    count_words(text, counts);
    ASSERT_EQ(ordered(counts), count_words_plain(text)) << before;
  }
}

TEST(CountWords, WordsLongerThan64KiBAreToldApart) {
  const std::string longest(70'000, 'w');
  const std::string text = longest + "x " + longest + "y\n" + longest + "x " + longest;
  WordCounts counts;
  count_words(text, counts);
  EXPECT_EQ(ordered(counts), (Plain{{longest, 1}, {longest + "x", 2}, {longest + "y", 1}}));
}

TEST(CutBetweenWords, PiecesTogetherAreTheTextAndNoWordIsCut) {
  for (const std::string& text : both(generate_text({.bytes = 5003, .vocabulary = 200}))) {
    for (std::size_t piece : {1, 7, 1000, 5003, 100000}) {
      std::string joined;
      WordCounts counts;
      for (std::string_view part : cut_between_words(text, piece)) {
        EXPECT_FALSE(part.empty());
        joined += part;
        count_words(part, counts);
      }
      EXPECT_EQ(joined, text);
      EXPECT_EQ(ordered(counts), count_words_plain(text));
    }
  }
  EXPECT_TRUE(cut_between_words("", 10).empty());
}

TEST(CutBetweenWords, WordLongerThanAPieceStaysWhole) {
  const auto pieces = cut_between_words("aa bbbbbbbb cc", 4);
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

// Numbers from `from` on, each as often as its last digit says and once more; a third are long.
WordCounts numbers(int from, int to) {
  WordCounts counts;
  for (int i = from; i < to; ++i) {
    const std::string word =
        (i % 3 == 0 ? "a word that is too long for a slot " : "") + std::to_string(i);
    for (int times = 0; times <= i % 10; ++times) counts.add(word);
  }
  return counts;
}

Plain sum(const WordCounts& a, const WordCounts& b) {
  Plain all = ordered(a);
  for (const auto& [word, count] : b.words()) all[std::string(word)] += count;
  return all;
}

TEST(Merged, TablesOfAnySizeEitherWay) {
  for (const int size : {0, 1, 47, 48, 49, 1000, 100'000}) {
    const WordCounts a = numbers(0, size);
    EXPECT_EQ(a.size(), static_cast<std::size_t>(size));
    for (const WordCounts& b : {numbers(size / 2, size / 2 + 3000), numbers(size, 2 * size), a}) {
      const Plain expected = sum(a, b);
      EXPECT_EQ(ordered(merged(a, b)), expected) << size;
      EXPECT_EQ(ordered(merged(b, a)), expected) << size;
    }
  }
}

TEST(WordCounts, HasWhatWasAddedAndNothingElse) {
  const Plain words = ordered(numbers(0, 5000));
  EXPECT_EQ(words.at("4999"), 10u);
  EXPECT_EQ(words.at("a word that is too long for a slot 4998"), 9u);
  for (const char* word : {"", "5000", "4998", "a word that is too long for a slot 4999"}) {
    EXPECT_FALSE(words.contains(word)) << word;
  }
}

TEST(WordCounts, ComesBackFromBytes) {
  for (const int size : {0, 1, 49, 10'000}) {
    const WordCounts table = numbers(0, size);
    team::Bytes bytes;
    team::put_value(bytes, table);
    team::put_value(bytes, 7);
    team::Reader in(bytes);
    EXPECT_EQ(ordered(team::get_value<WordCounts>(in)), ordered(table));
    EXPECT_EQ(team::get_value<int>(in), 7);
    team::Reader half({bytes.data(), bytes.size() / 2});
    EXPECT_THROW(team::get_value<WordCounts>(half), std::out_of_range);
  }
}

TEST(CountWords, TeamOfAnyShapeCountsAsThePlainVersion) {
  for (const std::string& text : both(generate_text({.bytes = 200'001, .vocabulary = 3000}))) {
    const Plain expected = count_words_plain(text);
    const auto pieces = cut_between_words(text, 9001);
    for (const auto& [processes, threads] : {std::pair{1, 1}, {1, 2}, {2, 1}, {2, 2}, {5, 1}}) {
      team::Team team({.processes = processes, .threads = threads});
      const WordCounts counts = count_words(team, pieces);
      EXPECT_EQ(ordered(counts), expected) << processes << " x " << threads;
      EXPECT_EQ(digest(counts), digest(expected));
    }
  }
}

TEST(CountWords, TeamCountsRandomTextsAndEmptyPieces) {
  std::mt19937 random(2);
  for (const std::string& text :
       both(random_text(random, 100'000, 60) + std::string(70'000, 'L'))) {
    auto pieces = cut_between_words(text, 999);
    pieces.insert(pieces.begin(), 3, std::string_view());
    for (const int processes : {1, 3}) {
      team::Team team({.processes = processes, .threads = 2});
      EXPECT_EQ(ordered(count_words(team, pieces)), count_words_plain(text));
    }
  }
}

TEST(CountWords, TeamWithoutPiecesCountsNothing) {
  team::Team team({.processes = 2, .threads = 1});
  EXPECT_TRUE(count_words(team, {}).empty());
}

TEST(Digest, TellsCountsApart) {
  const Plain counts = {{"a", 1}, {"b", 2}};
  EXPECT_EQ(digest(counts).words, 3u);
  EXPECT_EQ(digest(counts).distinct, 2u);
  EXPECT_NE(digest(counts), digest(Plain{{"a", 2}, {"b", 1}}));
  EXPECT_NE(digest(counts), digest(Plain{{"a", 1}, {"c", 2}}));
}

// Counts with the system's tools. split: a command that puts each word on a line of its own.
Plain counted_by_sort_and_uniq(const fs::path& file, const std::string& split) {
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
  const std::string text = generate_text({.bytes = 300'007, .vocabulary = 5000}) + "Don't 2x Z";
  write("text", text);
  for (const auto& [words, split] : {std::pair{text, "tr -s ' \\t\\n\\v\\f\\r' '\\n'"},
                                     {letters_only(text), "tr -cs A-Za-z '\\n' | tr A-Z a-z"}}) {
    const Plain expected = counted_by_sort_and_uniq(path_ / "text", split);
    ASSERT_GT(expected.size(), 1000u);
    team::Team team({.processes = 2, .threads = 1});
    EXPECT_EQ(ordered(count_words(team, cut_between_words(words, 10'000))), expected);
  }
}

TEST(GenerateText, HasTheSizeAskedForAndIsReproducible) {
  for (std::uint64_t bytes : {0, 1, 2, 100, 10'001}) {
    const std::string text = generate_text({.bytes = bytes});
    EXPECT_EQ(text.size(), bytes);
    EXPECT_EQ(text, generate_text({.bytes = bytes}));
  }
  EXPECT_NE(generate_text({.bytes = 1000, .seed = 1}), generate_text({.bytes = 1000, .seed = 2}));
}

TEST(GenerateText, FrequenciesFallAsZipfSays) {
  const Plain counts =
      count_words_plain(letters_only(generate_text({.bytes = 2'000'000, .vocabulary = 1000})));
  EXPECT_LE(counts.size(), 1000u);
  EXPECT_GT(counts.size(), 950u);
  std::vector<double> frequencies;
  for (const auto& [word, count] : counts) frequencies.push_back(static_cast<double>(count));
  std::sort(frequencies.rbegin(), frequencies.rend());
  EXPECT_NEAR(frequencies[0] / frequencies[9], 10, 1);
  EXPECT_NEAR(frequencies[0] / frequencies[99], 100, 15);
}

TEST(GenerateText, VocabularyOfOneIsOneWord) {
  EXPECT_EQ(count_words_plain(letters_only(generate_text({.bytes = 500, .vocabulary = 1}))).size(),
            1u);
  EXPECT_THROW(generate_text({.vocabulary = 0}), core::UsageError);
}

TEST_F(LoadText, FilesAreReadInOrderAndTheirWordsStayApart) {
  write("b", "last");
  write("a/2", "two");
  write("a/1", "one\n");
  write("empty", "");
  EXPECT_EQ(load_text(path_), "one\n\ntwo\nlast\n\n");
}

TEST_F(LoadText, RefusesWhatIsNoDirectoryOfFiles) {
  EXPECT_THROW(load_text(path_), core::UsageError);
  EXPECT_THROW(load_text(path_ / "nowhere"), core::UsageError);
  write("file", "x");
  EXPECT_THROW(load_text(path_ / "file"), core::UsageError);
}

}  // namespace
}  // namespace tabane::workloads
