#include "tabane/tools/mine/apriori.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "tabane/core/error.h"
#include "tabane/tools/mine/small_database_test.h"

namespace tabane::mine {
namespace {

Itemsets sets(std::size_t length, const std::vector<std::vector<Item>>& all) {
  Itemsets itemsets(length);
  for (const auto& one : all) itemsets.push_back(one);
  return itemsets;
}

TEST(Candidates, AreJoinedAndPruned) {
  // The example of Agrawal and Srikant, 2.1.1: {1 3 4 5} is left out, since {1 4 5} is not there.
  const Itemsets frequent = sets(3, {{1, 2, 3}, {1, 2, 4}, {1, 3, 4}, {1, 3, 5}, {2, 3, 4}});
  EXPECT_EQ(joined_pairs(frequent), 2);
  EXPECT_EQ(next_candidates(frequent), sets(4, {{1, 2, 3, 4}}));
}

TEST(Candidates, OfSingleItemsAreAllPairs) {
  EXPECT_EQ(next_candidates(single_items(3)), sets(2, {{0, 1}, {0, 2}, {1, 2}}));
  EXPECT_EQ(joined_pairs(single_items(18)), 153);
  EXPECT_TRUE(next_candidates(single_items(1)).empty());
  EXPECT_TRUE(next_candidates(single_items(0)).empty());
}

TEST(Candidates, AreFoundByTheirItems) {
  const Itemsets some = sets(2, {{0, 5}, {1, 2}, {1, 4}});
  EXPECT_EQ(place_of(some, std::vector<Item>{0, 5}), 0);
  EXPECT_EQ(place_of(some, std::vector<Item>{1, 4}), 2);
  EXPECT_EQ(place_of(some, std::vector<Item>{1, 3}), some.size());
  EXPECT_EQ(place_of(some, std::vector<Item>{9, 9}), some.size());
}

// Of 10 transactions.
const std::vector<Supported> kFrequent{{{1}, 5}, {{2}, 4}, {{3}, 8}, {{1, 2}, 4}, {{1, 3}, 4}};

TEST(Rules, HaveConfidenceAndLift) {
  const auto rules = find_rules(kFrequent, 10, 0.8);
  ASSERT_EQ(rules.size(), 3);
  EXPECT_EQ(rules[0].if_items, std::vector<Item>{2});
  EXPECT_EQ(rules[0].then_items, std::vector<Item>{1});
  EXPECT_EQ(rules[0].support, 4);
  EXPECT_DOUBLE_EQ(rules[0].confidence, 1);
  EXPECT_DOUBLE_EQ(rules[0].lift, 2);
  EXPECT_EQ(rules[1].then_items, std::vector<Item>{2});
  EXPECT_DOUBLE_EQ(rules[1].confidence, 0.8);
  EXPECT_DOUBLE_EQ(rules[1].lift, 2);
  EXPECT_EQ(rules[2].then_items, std::vector<Item>{3});
  EXPECT_DOUBLE_EQ(rules[2].lift, 1);
}

TEST(Rules, ALongerItemsetIsSplitInAllWays) {
  const std::vector<Supported> three{{{1}, 2},    {{2}, 2},    {{3}, 2},      {{1, 2}, 2},
                                     {{1, 3}, 2}, {{2, 3}, 2}, {{1, 2, 3}, 2}};
  EXPECT_EQ(find_rules(three, 4, 0).size(), 3 * 2 + 6);
}

TEST(Rules, MinConfidenceIsAShare) {
  check_min_confidence(0);
  check_min_confidence(1);
  for (const double bad : {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(check_min_confidence(bad), core::UsageError);
  }
}

// The items that are in all transactions with these.
std::vector<Item> closure_of(const Bitmaps& bitmaps, const std::vector<Item>& items) {
  std::vector<Item> all(bitmaps.items());
  std::iota(all.begin(), all.end(), Item{0});
  for (std::size_t t = 0; t < bitmaps.transactions(); ++t) {
    const auto has = [&](Item item) { return bitmaps.has(item, t); };
    if (std::ranges::all_of(items, has)) std::erase_if(all, [&](Item item) { return !has(item); });
  }
  return all;
}

TEST(Kept, IsWhatTheTransactionsSay) {
  const Bitmaps bitmaps = random_bitmaps(8, 40, 0.6, 3);
  const std::vector<Supported> frequent = frequent_by_trying_all(bitmaps, 8, 8);
  const auto is_part_of_a_frequent_one = [&](const Supported& one) {
    for (Item item = 0; item < bitmaps.items(); ++item) {
      if (std::ranges::find(one.items, item) != one.items.end()) continue;
      std::vector<Item> larger = one.items;
      larger.push_back(item);
      Itemsets candidate(larger.size());
      candidate.push_back(larger);
      if (count_reference(bitmaps, candidate)[0] >= 8) return true;
    }
    return false;
  };
  std::vector<Supported> closed, maximal;
  for (const Supported& one : frequent) {
    if (closure_of(bitmaps, one.items) == one.items) closed.push_back(one);
    if (!is_part_of_a_frequent_one(one)) maximal.push_back(one);
  }
  EXPECT_GT(frequent.size(), closed.size());
  EXPECT_GT(closed.size(), maximal.size());
  EXPECT_EQ(kept_of(frequent, Kept::all), frequent);
  EXPECT_EQ(kept_of(frequent, Kept::closed), closed);
  EXPECT_EQ(kept_of(frequent, Kept::maximal), maximal);
  EXPECT_TRUE(kept_of({}, Kept::maximal).empty());
}

}  // namespace
}  // namespace tabane::mine
