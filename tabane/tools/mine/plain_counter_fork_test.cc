#include "tabane/tools/mine/plain_counter.h"

#include <gtest/gtest.h>

#include "tabane/tools/mine/small_database_test.h"

namespace tabane::mine {
namespace {

// All itemsets of a length.
TEST(PlainCounter, CountsAsTheLoopOverTransactions) {
  for (const std::size_t transactions : {1, 63, 64, 65, 1000, 70'000}) {
    const Bitmaps bitmaps = random_bitmaps(7, transactions, 0.7, 3);
    for (const int threads : {1, 3}) {
      team::Team team({.processes = 1, .threads = threads});
      for (std::size_t length = 1; length <= 7; ++length) {
        const Itemsets candidates = all_of(7, length);
        EXPECT_EQ(count_plain(bitmaps, candidates, team), count_reference(bitmaps, candidates))
            << length << " of " << transactions;
      }
    }
  }
}

TEST(PlainCounter, CountsCandidatesThatHaveLittleInCommon) {
  const Bitmaps bitmaps = random_bitmaps(8, 500, 0.8, 4);
  Itemsets some(4);
  for (const auto& items : std::vector<std::vector<Item>>{
           {0, 1, 2, 3}, {0, 1, 4, 5}, {0, 2, 4, 5}, {1, 2, 4, 5}, {1, 2, 4, 7}, {3, 5, 6, 7}}) {
    some.push_back(items);
  }
  team::Team team({.processes = 1, .threads = 1});
  EXPECT_EQ(count_plain(bitmaps, some, team), count_reference(bitmaps, some));
}

TEST(PlainCounter, HasManyTasks) {
  const Bitmaps bitmaps = random_bitmaps(20, 100, 0.5, 6);
  const Itemsets pairs = all_of(20, 2);
  ASSERT_GT(pairs.size(), 128);
  for (const int processes : {1, 2}) {
    team::Team team({.processes = processes, .threads = 2});
    EXPECT_EQ(count_plain(bitmaps, pairs, team), count_reference(bitmaps, pairs));
  }
}

}  // namespace
}  // namespace tabane::mine
