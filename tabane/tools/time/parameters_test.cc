#include "tabane/tools/time/parameters.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"

namespace tabane::lab {
namespace {

using Texts = std::vector<std::string>;

TEST(NumberParameter, StepsWithoutRounding) {
  EXPECT_EQ(number_parameter("n", "1", "4").values, (Texts{"1", "2", "3", "4"}));
  EXPECT_EQ(number_parameter("n", "0.1", "0.3", "0.1").values, (Texts{"0.1", "0.2", "0.3"}));
  EXPECT_EQ(number_parameter("n", "1", "2", "0.5").values, (Texts{"1.0", "1.5", "2.0"}));
  EXPECT_EQ(number_parameter("n", "-1", "1").values, (Texts{"-1", "0", "1"}));
  EXPECT_EQ(number_parameter("n", "-0.05", "0", "0.05").values, (Texts{"-0.05", "0.00"}));
  EXPECT_EQ(number_parameter("n", "1", "2.5").values, (Texts{"1", "2"}));
  EXPECT_EQ(number_parameter("n", "3", "3").values, Texts{"3"});
}

TEST(NumberParameter, RefusesWhatHasNoValues) {
  EXPECT_THROW(number_parameter("n", "2", "1"), core::UsageError);
  EXPECT_THROW(number_parameter("n", "1", "2", "0"), core::UsageError);
  EXPECT_THROW(number_parameter("n", "1", "2", "-1"), core::UsageError);
  EXPECT_THROW(number_parameter("n", "one", "2"), core::UsageError);
  EXPECT_THROW(number_parameter("n", "", "2"), core::UsageError);
  EXPECT_THROW(number_parameter("n", "1", "1.2.3"), core::UsageError);
  EXPECT_THROW(number_parameter("n", "1", "99999999999999999999"), core::UsageError);
  EXPECT_THROW(number_parameter("n", "0", "1000000"), core::UsageError);
  EXPECT_THROW(number_parameter("a b", "1", "2"), core::UsageError);
}

TEST(ListParameter, SplitsAtCommas) {
  EXPECT_EQ(list_parameter("l", "a,b c,").values, (Texts{"a", "b c", ""}));
  EXPECT_EQ(list_parameter("l", "a\\,b,c\\d").values, (Texts{"a,b", "c\\d"}));
  EXPECT_THROW(list_parameter("", "a"), core::UsageError);
}

TEST(Combinations, AreAllOfThem) {
  EXPECT_EQ(combinations_of({}), std::vector<Values>{{}});
  const auto all = combinations_of({{"a", {"1", "2"}}, {"b", {"x", "y"}}});
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[1], (Values{{"a", "1"}, {"b", "y"}}));
  EXPECT_EQ(all[2], (Values{{"a", "2"}, {"b", "x"}}));
  const Parameter many = number_parameter("n", "1", "1000");
  EXPECT_THROW(combinations_of({many, many}), core::UsageError);
}

TEST(LevelOf, IsANumberOnlyIfItReadsAsOne) {
  EXPECT_TRUE(level_of("8").is_number());
  EXPECT_TRUE(level_of("0.5").is_number());
  EXPECT_FALSE(level_of("08").is_number());
  EXPECT_FALSE(level_of("8M").is_number());
  EXPECT_FALSE(level_of("").is_number());
}

}  // namespace
}  // namespace tabane::lab
