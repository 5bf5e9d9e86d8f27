#include "tabane/tools/mine/transactions.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"
#include "tabane/core/temporary_file.h"
#include "tabane/core/text_of_error_test.h"

namespace tabane::mine {
namespace {

using Transactions = std::vector<std::vector<Item>>;

class Fimi : public testing::Test {
 protected:
  std::string file(std::string_view text) {
    const std::string path = (folder_ / "db.dat").string();
    core::write_file(path, text);
    return path;
  }
  Transactions read(std::string_view text) {
    Transactions all;
    FimiFile(file(text)).for_each([&](std::span<const Item> items) {
      all.emplace_back(items.begin(), items.end());
    });
    return all;
  }
  std::string complaint(std::string_view text) {
    return core::text_of_error<core::UsageError>([&] { read(text); });
  }

 private:
  core::ScratchFolder folder_{"fimi"};
};

TEST_F(Fimi, ALineIsATransaction) {
  EXPECT_EQ(read("1 2 3\n7\n0 2147483647\n"), (Transactions{{1, 2, 3}, {7}, {0, 2147483647}}));
}

TEST_F(Fimi, TheLastLineNeedsNoEnd) { EXPECT_EQ(read("1 2\n3"), (Transactions{{1, 2}, {3}})); }

TEST_F(Fimi, BlanksAndTabsSeparate) {
  EXPECT_EQ(read(" 1\t 2 \n3  4\n"), (Transactions{{1, 2}, {3, 4}}));
}

TEST_F(Fimi, LinesEndAsOnAnySystem) {
  EXPECT_EQ(read("1 2\r\n3\r\n\r\n4\r\n"), (Transactions{{1, 2}, {3}, {}, {4}}));
  EXPECT_EQ(read("1 2\r3\r\r4\r"), (Transactions{{1, 2}, {3}, {}, {4}}));
  EXPECT_EQ(read("1 2\r3"), (Transactions{{1, 2}, {3}}));
  EXPECT_EQ(read("1\r2\n3\n\r"), (Transactions{{1}, {2}, {3}, {}}));
  EXPECT_NE(complaint("1\r2\rx").find("db.dat:3: 'x'"), std::string::npos);
}

TEST_F(Fimi, WordsAreNumberedAsTheyAreFirstSeen) {
  const auto read_words = [this](std::string_view text, char between) {
    const FimiFile words(file(text), between);
    Transactions all;
    words.for_each(
        [&](std::span<const Item> items) { all.emplace_back(items.begin(), items.end()); });
    return std::pair(all, words.item_names().words);
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(read_words("milk bread\r\n\r\nbread\t7 \n bread milk", ' '),
            std::pair(Transactions{{0, 1}, {}, {1, 2}, {0, 1}}, Names{"milk", "bread", "7"}));
  EXPECT_EQ(read_words("whole milk, rolls,,\nrolls ,whole milk\n", ','),
            std::pair(Transactions{{0, 1}, {0, 1}}, Names{"whole milk", "rolls"}));
  // As a spreadsheet writes it.
  EXPECT_EQ(read_words("\xEF\xBB\xBF"
                       R"("milk, whole", "6"" pan" ,rolls)"
                       "\r\n"
                       R"(rolls,"open)"
                       "\n"
                       R"("milk, whole",4" pan,"")",
                       ','),
            std::pair(Transactions{{0, 1, 2}, {2, 3}, {0, 4}},
                      Names{"milk, whole", "6\" pan", "rolls", "\"open", "4\" pan"}));
  EXPECT_EQ(read_words("\"open\rrolls\",milk\r", ','),
            std::pair(Transactions{{0}, {1, 2}}, Names{"\"open", "rolls\"", "milk"}));
  EXPECT_EQ(read_words("\"a b\"\n", ' '), std::pair(Transactions{{0, 1}}, Names{"\"a", "b\""}));
  EXPECT_EQ(read_words("a,b\tc\n", '\t'), std::pair(Transactions{{0, 1}}, Names{"a,b", "c"}));
  EXPECT_TRUE(FimiFile(file("1 2\n")).item_names().words.empty());
}

TEST_F(Fimi, AnEmptyLineIsATransactionWithoutItems) {
  EXPECT_EQ(read("1\n\n \n2\n"), (Transactions{{1}, {}, {}, {2}}));
  EXPECT_EQ(read(""), Transactions{});
  EXPECT_EQ(read("\n"), Transactions{{}});
}

TEST_F(Fimi, ItemsAscendAndAreThereOnce) {
  EXPECT_EQ(read("3 1 2 3 1\n5 5\n"), (Transactions{{1, 2, 3}, {5}}));
}

TEST_F(Fimi, ErrorsNameFileAndLine) {
  EXPECT_NE(complaint("1 2\n3 x\n").find("db.dat:2: 'x' is no part of an item number"),
            std::string::npos);
  EXPECT_NE(complaint("1\n2\n-3\n").find("db.dat:3: an item number must not be negative"),
            std::string::npos);
  EXPECT_NE(complaint("1 2147483648\n").find("db.dat:1: an item number is larger than 2147483647"),
            std::string::npos);
  EXPECT_NE(complaint("99999999999999999999999999999999999\n").find("larger than 2147483647"),
            std::string::npos);
  EXPECT_NE(complaint("1 2-3\n").find("'-' is no part"), std::string::npos);
  EXPECT_NE(complaint("1.5\n").find("'.' is no part"), std::string::npos);
  EXPECT_NE(complaint(std::string("1\n\0\n", 4)).find("db.dat:2: a byte 0x00"), std::string::npos);
}

TEST_F(Fimi, LinesMayBeCutAnywhereByTheBuffer) {
  std::string text;
  Transactions expected;
  for (Item i = 0; i < 200'000; ++i) {
    text += std::to_string(i) + " " + std::to_string(i + 12345) + "\n";
    expected.push_back({i, i + 12345});
  }
  ASSERT_GT(text.size(), std::size_t{2} << 20);
  EXPECT_EQ(read(text), expected);
}

TEST_F(Fimi, IsReadAgainFromTheBeginning) {
  const FimiFile twice(file("1\n2\n"));
  int lines = 0;
  twice.for_each([&](std::span<const Item>) { ++lines; });
  twice.for_each([&](std::span<const Item>) { ++lines; });
  EXPECT_EQ(lines, 4);
}

TEST_F(Fimi, AMissingFileIsNamed) {
  EXPECT_NE(core::text_of_error<core::SystemError>([] {
              FimiFile("/nowhere/db.dat");
            }).find("/nowhere/db.dat"),
            std::string::npos);
}

class BitmapsOfFile : public testing::Test {
 protected:
  FimiFile file(std::string_view text) {
    const std::string path = (folder_ / "db.dat").string();
    core::write_file(path, text);
    return FimiFile(path);
  }

 private:
  core::ScratchFolder folder_{"bitmaps"};
};

TEST_F(BitmapsOfFile, ItemsAreCountedOncePerTransaction) {
  const ItemCounts counts = count_items(file("5 3\n3 3\n\n2000000000 3\n"));
  EXPECT_EQ(counts.transactions, 4);
  EXPECT_EQ(counts.items, (std::vector<Supported>{{{3}, 3}, {{5}, 1}, {{2000000000}, 1}}));
}

TEST_F(BitmapsOfFile, HoldTheFrequentItems) {
  const FimiFile three = file("9 1 4\n4\n1 4 7\n");
  const Bitmaps bitmaps = read_bitmaps(three, count_items(three), 2);
  EXPECT_EQ(bitmaps.names(), (std::vector<Item>{1, 4}));
  EXPECT_EQ(bitmaps.transactions(), 3);
  EXPECT_EQ(bitmaps.bits(0)[0], 0b101);
  EXPECT_EQ(bitmaps.bits(1)[0], 0b111);
  EXPECT_TRUE(bitmaps.has(0, 2));
  EXPECT_FALSE(bitmaps.has(0, 1));
}

TEST_F(BitmapsOfFile, ReachBeyondTheFirstWord) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += i % 7 == 0 ? "1 2\n" : "2\n";
  const FimiFile many = file(text);
  const Bitmaps bitmaps = read_bitmaps(many, count_items(many), 1);
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(bitmaps.has(0, i), i % 7 == 0) << i;
}

TEST_F(BitmapsOfFile, AFileWithoutTransactionsIsRefused) {
  const FimiFile empty = file("");
  EXPECT_NE(core::text_of_error<core::UsageError>([&] {
              count_items(empty);
            }).find("db.dat: there is no transaction in it"),
            std::string::npos);
}

TEST_F(BitmapsOfFile, AFileThatGrowsMeanwhileIsNoticed) {
  const FimiFile before = file("1\n");
  const ItemCounts counts = count_items(before);
  for (const char* text : {"1\n1\n1\n", ""}) {
    const FimiFile after = file(text);
    EXPECT_THROW(read_bitmaps(after, counts, 1), core::Error) << text;
  }
}

}  // namespace
}  // namespace tabane::mine
