#include "tabane/tools/mine/rules.h"

#include <gtest/gtest.h>

#include <limits>

#include "tabane/core/error.h"

namespace tabane::mine {
namespace {

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

}  // namespace
}  // namespace tabane::mine
