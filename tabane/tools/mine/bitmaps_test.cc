#include "tabane/tools/mine/bitmaps.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/scratch_folder.h"
#include "tabane/core/text_of_error_test.h"

namespace tabane::mine {
namespace {

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
