#include "tabane/tools/mine/apriori.h"

#include <gtest/gtest.h>

#include <limits>

#include "tabane/core/error.h"
#include "tabane/tools/mine/plain_counter.h"
#include "tabane/tools/mine/small_database_test.h"

namespace tabane::mine {
namespace {

// Agrawal and Srikant's example of 1994, section 2.1.2.
Bitmaps four_transactions() {
  return bitmaps_of({{1, 3, 4}, {2, 3, 5}, {1, 2, 3, 5}, {2, 5}}, {1, 2, 3, 4, 5});
}

std::vector<Supported> mined(const Bitmaps& bitmaps, std::uint64_t least, std::size_t longest) {
  team::Team team({.processes = 1, .threads = 2});
  return mine(Apriori(bitmaps.items(), bitmaps.transactions(), least, longest),
              [&](const Itemsets& candidates) { return count_plain(bitmaps, candidates, team); })
      .frequent();
}

TEST(Apriori, FindsWhatWasWorkedOutByHand) {
  // Items by their place: 0 is item 1.
  EXPECT_EQ(mined(four_transactions(), 2, 3), (std::vector<Supported>{{{0}, 2},
                                                                      {{1}, 3},
                                                                      {{2}, 3},
                                                                      {{4}, 3},
                                                                      {{0, 2}, 2},
                                                                      {{1, 2}, 2},
                                                                      {{1, 4}, 3},
                                                                      {{2, 4}, 2},
                                                                      {{1, 2, 4}, 2}}));
}

TEST(Apriori, StopsAtTheLongestItemsetWanted) {
  EXPECT_EQ(mined(four_transactions(), 2, 1).size(), 4);
  EXPECT_EQ(mined(four_transactions(), 2, 2).size(), 8);
  EXPECT_EQ(mined(four_transactions(), 2, 8).size(), 9);
}

TEST(Apriori, FindsAllItemsetsOfEverySubset) {
  const Bitmaps bitmaps = random_bitmaps(9, 300, 0.6, 5);
  for (const std::uint64_t least : {1, 20, 60, 150, 301}) {
    EXPECT_EQ(mined(bitmaps, least, 8), frequent_by_trying_all(bitmaps, least, 8)) << least;
  }
}

TEST(Apriori, ADatabaseWithoutItemsHasNoItemsets) {
  EXPECT_TRUE(mined(bitmaps_of({{}, {}}, {}), 1, 3).empty());
}

TEST(Apriori, CountsThatCannotBeAreRefused) {
  Apriori apriori(2, 10, 1, 3);
  EXPECT_THROW(apriori.take(std::vector<std::uint64_t>{11, 0}), core::Error);
  apriori.take(std::vector<std::uint64_t>{5, 7});
  EXPECT_EQ(apriori.candidates().size(), 1);
  EXPECT_THROW(apriori.take(std::vector<std::uint64_t>{6}), core::Error);
}

TEST(MinSupport, IsAShareOfTheTransactions) {
  for (const double bad : {0.0, -0.1, 1.0001, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(check_min_support(bad), core::UsageError) << bad;
  }
  check_min_support(1);
  check_min_support(1e-9);
}

TEST(MinSupport, IsRoundedUpToWholeTransactions) {
  EXPECT_EQ(least_support(0.02, 100), 2);
  EXPECT_EQ(least_support(0.02, 101), 3);
  EXPECT_EQ(least_support(1, 7), 7);
  EXPECT_EQ(least_support(1e-9, 7), 1);
  for (std::size_t n = 1; n < 2000; ++n) {
    for (std::size_t k = 1; k <= n; k += 13) {
      const double share = static_cast<double>(k) / static_cast<double>(n);
      ASSERT_EQ(least_support(share, n), k) << k << " of " << n;
    }
  }
}

}  // namespace
}  // namespace tabane::mine
