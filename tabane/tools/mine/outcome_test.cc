#include "tabane/tools/mine/outcome.h"

#include <gtest/gtest.h>

namespace tabane::mine {
namespace {

Outcome small() {
  Outcome outcome;
  outcome.transactions = 8;
  outcome.itemsets = named({{{0}, 4}, {{0, 2}, 2}}, {3, 5, 77});
  outcome.rules = find_rules(std::vector<Supported>{{{3}, 4}, {{77}, 2}, {{3, 77}, 2}}, 8, 0.6);
  return outcome;
}

TEST(OutcomeText, NamesTheItems) {
  EXPECT_EQ(small().itemsets, (std::vector<Supported>{{{3}, 4}, {{3, 77}, 2}}));
}

TEST(OutcomeText, IsCsv) {
  EXPECT_EQ(csv_of_itemsets(small()), "items,length,support,share\n3,1,4,0.5\n3 77,2,2,0.25\n");
  EXPECT_EQ(csv_of_rules(small()), "if,then,support,confidence,lift\n77,3,2,1,2\n");
}

TEST(OutcomeText, MarksInsecureParameters) {
  Outcome outcome = small();
  outcome.encryption.emplace();
  EXPECT_TRUE(csv_of_itemsets(outcome).starts_with("# insecure parameters\nitems,"));
  EXPECT_TRUE(csv_of_rules(outcome).starts_with("# insecure parameters\nif,"));
  outcome.encryption->security_bits = 128;
  EXPECT_TRUE(csv_of_rules(outcome).starts_with("if,"));
}

}  // namespace
}  // namespace tabane::mine
