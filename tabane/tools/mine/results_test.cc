#include "tabane/tools/mine/results.h"

#include <gtest/gtest.h>

namespace tabane::mine {
namespace {

MineResult small() {
  MineResult result;
  result.transactions = 8;
  result.itemsets = named({{{0}, 4}, {{0, 2}, 2}}, {3, 5, 77});
  result.rules = find_rules(std::vector<Supported>{{{3}, 4}, {{77}, 2}, {{3, 77}, 2}}, 8, 0.6);
  return result;
}

TEST(MineResult, NamesTheItems) {
  EXPECT_EQ(small().itemsets, (std::vector<Supported>{{{3}, 4}, {{3, 77}, 2}}));
}

TEST(MineResult, IsCsv) {
  EXPECT_EQ(csv_of_itemsets(small()), "items,length,support,share\n3,1,4,0.5\n3 77,2,2,0.25\n");
  EXPECT_EQ(csv_of_rules(small()), "if,then,support,confidence,lift\n77,3,2,1,2\n");
}

TEST(MineResult, NamesTheItemsByTheirWords) {
  MineResult result{.transactions = 8, .names = {{"whole milk", "rolls \"A\""}, ","}};
  result.itemsets = {{{0}, 4}, {{1}, 4}, {{0, 1}, 2}};
  result.rules = find_rules(result.itemsets, 8, 0.5);
  EXPECT_NE(csv_of_itemsets(result).find("\nwhole milk,1,4,0.5\n\"rolls \"\"A\"\"\",1,4,0.5\n"
                                         "\"whole milk,rolls \"\"A\"\"\",2,2,0.25\n"),
            std::string::npos)
      << csv_of_itemsets(result);
  EXPECT_NE(csv_of_rules(result).find("\nwhole milk,\"rolls"), std::string::npos);
  EXPECT_NE(mine_text(result).find("whole milk, rolls \"A\"\n"), std::string::npos);
  EXPECT_EQ(mine_json(result)["rules"][0]["then"], std::vector<std::string>{"rolls \"A\""});
}

TEST(MineResult, MarksInsecureParameters) {
  MineResult result = small();
  result.encryption.emplace();
  EXPECT_TRUE(csv_of_itemsets(result).starts_with("# insecure parameters\nitems,"));
  EXPECT_TRUE(csv_of_rules(result).starts_with("# insecure parameters\nif,"));
  result.encryption->security_bits = 128;
  EXPECT_TRUE(csv_of_rules(result).starts_with("if,"));
}

MineResult found() {
  MineResult result{.database = "shop.dat",
                    .transactions = 8,
                    .min_support = 0.25,
                    .least_support = 2,
                    .most_length = 2,
                    .min_confidence = 0.5};
  result.itemsets = {{{3}, 4}, {{5}, 6}, {{3, 5}, 3}};
  result.rules = find_rules(result.itemsets, 8, 0.5);
  return result;
}

TEST(MineText, BeginsWithTheMostFrequent) {
  const std::string text = mine_text(found());
  EXPECT_NE(text.find("shop.dat: 8 transactions; 3 itemsets of up to 2 items"), text.npos);
  EXPECT_LT(text.find("         6       75 %  5\n"), text.find("         4       50 %  3\n"));
  EXPECT_NE(text.find("      75 %       1           3  3 => 5\n"), text.npos) << text;
  EXPECT_EQ(text.find("encrypted"), text.npos);
}

TEST(MineText, SaysHowItWasEncryptedAndThatNobodyAuditedIt) {
  MineResult result = found();
  result.encryption.emplace().security_bits = 128;
  EXPECT_NE(mine_text(result).find("128-bit security; not audited"), std::string::npos);
  result.encryption->security_bits = 0;
  EXPECT_NE(mine_text(result).find("INSECURE PARAMETERS"), std::string::npos);
}

TEST(MineText, QuotesNamesThatHaveACommaInThem) {
  MineResult result;
  result.transactions = 4;
  result.names = {.words = {"milk, whole", "rolls"}, .between = ","};
  result.itemsets = {{{0, 1}, 3}};
  EXPECT_NE(csv_of_itemsets(result).find("\"\"\"milk, whole\"\",rolls\",2,3,0.75\n"),
            std::string::npos);
  EXPECT_NE(mine_text(result).find("  \"milk, whole\", rolls\n"), std::string::npos);
}

TEST(MineText, IsJsonInTheOrderOfTheItems) {
  const lab::Json json = mine_json(found());
  EXPECT_EQ(json["itemsets"][2]["items"], (std::vector<int>{3, 5}));
  EXPECT_EQ(json["itemsets"][2]["support"], 3);
  EXPECT_EQ(json["rules"][0]["if"], std::vector<int>{3});
  EXPECT_TRUE(json["encryption"].is_null());
  MineResult result = found();
  result.encryption.emplace();
  const lab::Json how = mine_json(result)["encryption"];
  EXPECT_TRUE(how["insecure_parameters"].get<bool>());
  EXPECT_TRUE(how["security_bits"].is_null());
  EXPECT_FALSE(how["audited"].get<bool>());
}

}  // namespace
}  // namespace tabane::mine
