#include "tabane/comm/collective/choice.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <set>

#include "tabane/comm/runners_test.h"
#include "tabane/comm/transport/plain_transport_test.h"

namespace tabane::comm {
namespace {

std::string error_in(std::string_view text) {
  return error_of<core::UsageError>([&] { ChoiceTable::parse(text, "choices.txt"); });
}

TEST(Choice, ReadsWhatItWrites) {
  const std::string text = default_choice()->format();
  const ChoiceTable again = ChoiceTable::parse(text, "text");
  EXPECT_EQ(again.format(), text);
  EXPECT_EQ(again.rules().size(), default_choice()->rules().size());
}

TEST(Choice, ReadsRules) {
  const ChoiceTable table = ChoiceTable::parse(
      "# comment\n\n  memory broadcast 16 64K flags # why\r\nnative\tbarrier\t*\t*\tmessages", "x");
  ASSERT_EQ(table.rules().size(), 2u);
  const Rule& first = table.rules()[0];
  EXPECT_EQ(first.setting, Setting::memory);
  EXPECT_EQ(first.kind, Kind::broadcast);
  EXPECT_EQ(first.most_ranks, 16);
  EXPECT_EQ(first.most_bytes, 65536u);
  EXPECT_EQ(first.algorithm, find_algorithm(Kind::broadcast, "flags"));
  EXPECT_EQ(table.rules()[1].most_ranks, Rule::kAnyRanks);
  EXPECT_EQ(table.rules()[1].most_bytes, Rule::kAnyBytes);
  EXPECT_TRUE(ChoiceTable::parse("", "x").rules().empty());
}

TEST(Choice, NamesTheLineOfAnErrorAndWhatIsLegal) {
  require_contains(error_in("\nmemory barrier * * tree"), "choices.txt, line 2: barrier has no");
  require_contains(error_in("memory barrier * * tree"), "flags, counter, two_level, messages");
  require_contains(error_in("fast barrier * * flags"), "no setting 'fast': give memory, crowded");
  require_contains(error_in("memory bcast * * flags"),
                   "no collective 'bcast': give one of barrier");
  require_contains(error_in("memory barrier 0 * flags"), "'0' is no number of ranks");
  require_contains(error_in("memory barrier 8x * flags"), "'8x' is no number of ranks");
  require_contains(error_in("memory barrier 99999999999 * flags"), "is no number of ranks");
  require_contains(error_in("memory barrier * many flags"), "line 1: ");
  require_contains(error_in("memory barrier * -1 flags"), "line 1: ");
  require_contains(error_in("memory barrier * flags"), "4 words instead of 5");
  require_contains(error_in("memory barrier * * flags now"), "6 words instead of 5");
}

TEST(Choice, ReadsAFile) {
  const std::string file = testing::TempDir() + "tabane_choice_test.txt";
  std::ofstream(file) << "memory barrier * * messages\n";
  EXPECT_EQ(ChoiceTable::read(file)->rules().size(), 1u);
  std::ofstream(file) << "memory barrier\n";
  require_contains(error_of<core::UsageError>([&] { ChoiceTable::read(file); }), file + ", line 1");
  std::remove(file.c_str());
  EXPECT_THROW(ChoiceTable::read(file), core::SystemError);
}

// So that pick() always finds one.
TEST(Choice, BuiltInRulesEndWithOneForAll) {
  std::set<std::pair<Setting, Kind>> ended;
  for (const Rule& rule : default_choice()->rules()) {
    if (rule.most_ranks == Rule::kAnyRanks && rule.most_bytes == Rule::kAnyBytes) {
      ended.insert({rule.setting, rule.kind});
    }
  }
  EXPECT_EQ(ended.size(), static_cast<std::size_t>(kSettings * kKinds));
}

const Algorithm* ruled(Setting setting, Kind kind, int ranks, std::size_t bytes) {
  for (const Rule& rule : default_choice()->rules()) {
    if (rule.setting == setting && rule.kind == kind && ranks <= rule.most_ranks &&
        bytes <= rule.most_bytes) {
      return rule.algorithm;
    }
  }
  return nullptr;
}

// So that over shared memory the bits do not depend on how many PUs there are; of two values there
// is one order only.
TEST(Choice, OfAllReduceKeepsTheOrderOfRanksWhateverThePUs) {
  for (const Setting setting : {Setting::memory, Setting::crowded}) {
    EXPECT_TRUE(ruled(setting, Kind::scan, 16, 1 << 20)->in_order);
    for (int ranks = 3; ranks <= 16; ++ranks) {
      for (const std::size_t bytes : {8, 48, 49, 4096, 32768, 65536, 1 << 20}) {
        EXPECT_TRUE(ruled(setting, Kind::all_reduce, ranks, bytes)->in_order)
            << ranks << " ranks, " << bytes << " bytes";
      }
    }
  }
}

// Elements of any size: some are larger than what an algorithm has room for.
TEST(Choice, OfAllReduceKeepsTheOrderOfRanksWhateverTheElements) {
  for (const int ranks : {3, 4, 16}) {
    run_plain(ranks, [](Comm& comm) {
      for (const std::size_t bytes : {8, 49, 3000, 9000, 32768, 40000}) {
        const Call call{.kind = Kind::all_reduce, .element = {{}, bytes}, .bytes = bytes};
        const Algorithm& picked = default_choice()->pick(comm.group(), call);
        if (!picked.in_order) throw core::Error(std::string(picked.name));
      }
    });
  }
}

TEST(Choice, ThatIsReproducibleTakesAlgorithmsInOrderOnly) {
  std::set<std::pair<Setting, Kind>> ended;
  for (const Rule& rule : reproducible_choice().rules()) {
    EXPECT_TRUE(rule.algorithm->in_order || rule.most_ranks == 2)
        << name_of(rule.kind) << ' ' << rule.algorithm->name;
    if (rule.most_ranks == Rule::kAnyRanks && rule.most_bytes == Rule::kAnyBytes) {
      ended.insert({rule.setting, rule.kind});
    }
  }
  EXPECT_EQ(ended.size(), static_cast<std::size_t>(kSettings * 5));  // of the kinds that combine
}

TEST(Choice, TakesTheFirstRuleThatFitsAndCanServe) {
  run_plain(4, [](Comm& comm) {
    const auto pick = [&](std::string_view text, std::size_t bytes) {
      const Call call{.kind = Kind::all_reduce, .element = {{}, 8}, .bytes = bytes};
      return ChoiceTable::parse(text, "x").pick(comm.group(), call).name;
    };
    constexpr std::string_view kRules =
        "memory all_reduce 3 * linear\n"
        "memory all_reduce 4 100 flags\n"
        "crowded all_reduce * * ring_is_not_looked_at\n";
    require_contains(error_of<core::UsageError>([&] { pick(kRules, 8); }), "line 3");
    constexpr std::string_view kGood =
        "memory all_reduce 3 * linear\nmemory all_reduce 4 100 flags\n"
        "memory all_reduce * 100 tree\nmessages all_reduce * * linear\n";
    require_equal(pick(kGood, 48), "flags");
    require_equal(pick(kGood, 49), "tree");  // flags cannot
    require_equal(
        pick(kGood, 101),
        default_choice()
            ->pick(comm.group(), {.kind = Kind::all_reduce, .element = {{}, 8}, .bytes = 101})
            .name);
  });
}

TEST(Choice, OfAGroupDecides) {
  run_plain(2, [](Comm& comm) {
    const auto table =
        std::make_shared<const ChoiceTable>(ChoiceTable::parse("memory barrier * * counter", "x"));
    comm.group().set_choice(table);
    require(comm.group().choice() == table);
    comm.group().set_choice(nullptr);
    require(comm.group().choice() == default_choice());
  });
}

TEST(Registry, NamesAreUniqueInACollective) {
  std::set<std::pair<Kind, std::string_view>> names;
  for (const Algorithm& algorithm : algorithms()) {
    EXPECT_TRUE(names.insert({algorithm.kind, algorithm.name}).second) << algorithm.name;
    EXPECT_EQ(find_algorithm(algorithm.kind, algorithm.name), &algorithm);
  }
  EXPECT_EQ(find_algorithm(Kind::barrier, "tree"), nullptr);
}

}  // namespace
}  // namespace tabane::comm
