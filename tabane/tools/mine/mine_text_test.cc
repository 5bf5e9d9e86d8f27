#include "tabane/tools/mine/mine_text.h"

#include <gtest/gtest.h>

namespace tabane::program {
namespace {

using Mined = mine::Outcome;

Mined found() {
  Mined outcome{.database = "shop.dat",
                .transactions = 8,
                .min_support = 0.25,
                .least_support = 2,
                .most_length = 2,
                .min_confidence = 0.5};
  outcome.itemsets = {{{3}, 4}, {{5}, 6}, {{3, 5}, 3}};
  outcome.rules = find_rules(outcome.itemsets, 8, 0.5);
  return outcome;
}

TEST(MineText, BeginsWithTheMostFrequent) {
  const std::string text = mine_text(found());
  EXPECT_NE(text.find("shop.dat: 8 transactions; 3 itemsets of up to 2 items"), text.npos);
  EXPECT_LT(text.find("         6       75 %  5\n"), text.find("         4       50 %  3\n"));
  EXPECT_NE(text.find("      75 %       1           3  3 => 5\n"), text.npos) << text;
  EXPECT_EQ(text.find("encrypted"), text.npos);
}

TEST(MineText, SaysHowItWasEncryptedAndThatNobodyAuditedIt) {
  Mined outcome = found();
  outcome.encryption.emplace().security_bits = 128;
  EXPECT_NE(mine_text(outcome).find("128-bit security; not audited"), std::string::npos);
  outcome.encryption->security_bits = 0;
  EXPECT_NE(mine_text(outcome).find("INSECURE PARAMETERS"), std::string::npos);
}

TEST(MineText, IsJsonInTheOrderOfTheItems) {
  const lab::Json json = mine_json(found());
  EXPECT_EQ(json["itemsets"][2]["items"], (std::vector<int>{3, 5}));
  EXPECT_EQ(json["itemsets"][2]["support"], 3);
  EXPECT_EQ(json["rules"][0]["if"], std::vector<int>{3});
  EXPECT_TRUE(json["encryption"].is_null());
  Mined outcome = found();
  outcome.encryption.emplace();
  const lab::Json how = mine_json(outcome)["encryption"];
  EXPECT_TRUE(how["insecure_parameters"].get<bool>());
  EXPECT_TRUE(how["security_bits"].is_null());
  EXPECT_FALSE(how["audited"].get<bool>());
}

}  // namespace
}  // namespace tabane::program
