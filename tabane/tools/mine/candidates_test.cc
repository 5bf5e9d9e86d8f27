#include "tabane/tools/mine/candidates.h"

#include <gtest/gtest.h>

#include <vector>

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

}  // namespace
}  // namespace tabane::mine
