#include "tabane/tools/mine/steps.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"
#include "tabane/tools/mine/apriori.h"

namespace tabane::mine {
namespace {

TEST(Query, CarriesCandidates) {
  const Itemsets pairs = next_candidates(single_items(5));
  EXPECT_EQ(Query::of({}, pairs).candidates(), pairs);
}

TEST(Query, ThatIsNotInOrderIsRefused) {
  const auto refused = [](std::uint64_t length, std::vector<Item> items) {
    EXPECT_THROW((Query{.database = {}, .length = length, .items = items}.candidates()),
                 core::UsageError);
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
