#include "tabane/comm/collective/choice.h"

#include <gtest/gtest.h>

#include "tabane/comm/collectives.h"
#include "tabane/comm/launch.h"
#include "tabane/core/error.h"

namespace tabane::comm {
namespace {

TEST(Mechanisms, EachSetTakesAwayRulesOfTheOneBefore) {
  std::size_t before = 1000;
  for (std::string_view name : kMechanismNames) {
    const std::string text = rules_of(mechanisms_named(name));
    const std::size_t rules = ChoiceTable::parse(text, "test").rules().size();
    EXPECT_LT(rules, before) << name;
    before = rules;
  }
  EXPECT_EQ(before, 0U);
}

TEST(Mechanisms, NameTheLegalOnes) {
  try {
    mechanisms_named("broadcast");
    FAIL();
  } catch (const core::UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("messages, +broadcast, +global, all"),
              std::string::npos);
  }
}

TEST(Mechanisms, GiveTheSameResults) {
  for (std::string_view name : kMechanismNames) {
    LaunchOptions options{.ranks = 3, .transport = TransportKind::shm};
    options.choice_rules = rules_of(mechanisms_named(name));
    const auto sums = launch_result<std::vector<int>>(options, [](Comm& comm) {
      int value = comm.rank() == 1 ? 5 : 0;
      broadcast(comm, value, 1);
      barrier(comm);
      const int sum = all_reduce(comm, value + comm.rank(), Operation::sum);
      return all_gather(comm, sum * comm.rank());
    });
    EXPECT_EQ(sums, (std::vector{0, 18, 36})) << name;
  }
}

}  // namespace
}  // namespace tabane::comm
