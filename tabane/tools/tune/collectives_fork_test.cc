#include "tabane/tools/tune/collectives.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tabane/comm/collectives.h"

namespace tabane::lab {
namespace {

Points measured(std::initializer_list<std::tuple<const char*, int, int, double>> all) {
  Points points;
  for (const auto& [algorithm, ranks, bytes, seconds] : all)
    points.add({.factors = {{"collective", "broadcast"},
                            {"algorithm", algorithm},
                            {"ranks", ranks},
                            {"bytes", bytes}},
                .samples = std::vector<double>(6, seconds)});
  return points;
}
comm::Setting memory(int) { return comm::Setting::memory; }

TEST(ChooseAlgorithms, KeepsTheBuiltInUnlessAnotherIsSurelyFaster) {
  // Built in: flags up to 64 KiB.
  const Points points = measured({{"flags", 2, 8, 1.0},
                                  {"scatter_all_gather", 2, 8, 0.97},
                                  {"flags", 2, 512, 1.0},
                                  {"scatter_all_gather", 2, 512, 0.5}});
  const auto choices = choose_algorithms(points, memory);
  ASSERT_EQ(choices.size(), 2u);
  EXPECT_EQ(choices[0].chosen->text("algorithm"), "flags");
  EXPECT_EQ(choices[1].chosen->text("algorithm"), "scatter_all_gather");
  EXPECT_EQ(choices[1].built_in->text("algorithm"), "flags");
}

TEST(RulesOf, CutsHalfwayBetweenSizesAndNamesTheRanks) {
  const Points points = measured({{"flags", 2, 8, 1.0},
                                  {"scatter_all_gather", 2, 8, 2.0},
                                  {"flags", 2, 512, 2.0},
                                  {"scatter_all_gather", 2, 512, 1.0},
                                  {"flags", 4, 8, 1.0},
                                  {"scatter_all_gather", 4, 8, 2.0}});
  const comm::ChoiceTable table(rules_of(choose_algorithms(points, memory)));
  const auto& rules = table.rules();
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(rules[0].algorithm->name, "flags");
  EXPECT_EQ(rules[0].most_bytes, 64u);  // √(8 · 512)
  EXPECT_EQ(rules[0].most_ranks, 2);
  EXPECT_EQ(rules[1].algorithm->name, "scatter_all_gather");
  EXPECT_EQ(rules[1].most_bytes, comm::Rule::kAnyBytes);
  EXPECT_EQ(rules[2].algorithm->name, "flags");
  EXPECT_EQ(rules[2].most_ranks, comm::Rule::kAnyRanks);
  EXPECT_EQ(comm::ChoiceTable::parse(table.format(), "test").rules().size(), 3u);
}

TEST(RulesOf, MakesOneOfEqualRulesForSeveralRanks) {
  const Points points = measured({{"flags", 2, 8, 1.0}, {"flags", 4, 8, 1.0}});
  EXPECT_EQ(rules_of(choose_algorithms(points, memory)).size(), 1u);
}

TEST(TuneCollectives, GivesRulesThatRanksCanUse) {
  const auto tuning =
      tune_collectives(core::Topology::detect(), {.quick = true,
                                                  .ranks = {comm::TransportKind::shm, 2},
                                                  .budget_seconds = 0.2,
                                                  .most_seconds = 100});
  ASSERT_TRUE(tuning);
  bool barrier = false, all_to_all = false;
  const auto table = comm::ChoiceTable::parse(tuning->choice, "tuning");
  for (const comm::Rule& rule : table.rules()) {
    barrier |= rule.kind == comm::Kind::barrier;
    all_to_all |= rule.kind == comm::Kind::all_to_all;
  }
  EXPECT_TRUE(barrier && all_to_all) << tuning->choice;
  EXPECT_NE(tuning->record.sentences.at(0).find("keep what is built in"), std::string::npos);

  const auto file = std::filesystem::path(testing::TempDir()) / "choice_of_collectives_test.txt";
  std::ofstream(file) << tuning->choice;
  const auto sum = comm::launch_result<double>(
      {.ranks = 2, .transport = comm::TransportKind::shm, .choice_file = file.string()},
      [](comm::Comm& ranks) {
        return comm::all_reduce(ranks, 1.0 + ranks.rank(), comm::Operation::sum);
      });
  std::filesystem::remove(file);
  EXPECT_EQ(sum, 3.0);
}

}  // namespace
}  // namespace tabane::lab
