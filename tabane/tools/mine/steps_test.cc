#include "tabane/tools/mine/steps.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"
#include "tabane/tools/mine/apriori.h"
#include "tabane/tools/mine/files.h"

namespace tabane::mine {
namespace {

TEST(Query, CarriesCandidates) {
  const Itemsets pairs = next_candidates(single_items(5));
  const Query query{DatabaseId{7}, pairs};
  const auto read = value_of<Query>(bytes_of(query), "query");
  EXPECT_EQ(read.database, query.database);
  EXPECT_EQ(read.candidates, pairs);
  EXPECT_NO_THROW(check_candidates(read.candidates));
}

// Those who have written queries put their length before the items.
TEST(Query, IsTheDatabaseThenTheLengthThenTheItems) {
  Itemsets pair(2);
  pair.push_back(std::vector<Item>{3, 5});
  team::Bytes expected(16);
  expected[0] = std::byte{7};
  team::put_value(expected, std::uint64_t{2});
  team::put_value(expected, std::vector<Item>{3, 5});
  EXPECT_EQ(bytes_of(Query{DatabaseId{7}, pair}), expected);
}

TEST(Query, ThatIsNotInOrderIsRefused) {
  const auto refused = [](std::size_t length, const std::vector<Item>& items) {
    Itemsets candidates(length);
    candidates.push_back(items);
    EXPECT_THROW(check_candidates(candidates), core::UsageError);
  };
  refused(0, {1, 2});
  refused(2, {});
  refused(2, {1, 2, 3});
  refused(2, {1, 1});
  refused(2, {2, 1});
  refused(2, {1, 3, 1, 2});
  refused(2, {1, 2, 1, 2});
}

}  // namespace
}  // namespace tabane::mine
