#include "tabane/studies/process_thread/malloc_map/insert.h"

#include <gtest/gtest.h>

#include <set>

#include "tabane/core/error.h"

namespace tabane::malloc_map {
namespace {

TEST(DistinctAfter, NewKeysComeAtEvenDistances) {
  const InsertProblem tenth{.new_share = 0.1};
  EXPECT_EQ(distinct_after(tenth, 0), 0u);
  EXPECT_EQ(distinct_after(tenth, 1), 1u);
  EXPECT_EQ(distinct_after(tenth, 19), 1u);
  EXPECT_EQ(distinct_after(tenth, 20), 2u);
  EXPECT_EQ(distinct_after(tenth, 100), 10u);
  EXPECT_EQ(distinct_after({.new_share = 1}, 7), 7u);
  EXPECT_EQ(distinct_after({.new_share = 0}, 7), 1u);
}

TEST(Insert, MapHasTheKeysThatWereDrawn) {
  for (double share : {0.0, 0.1, 0.5, 1.0}) {
    const InsertProblem problem{.inserts = 1003, .new_share = share};
    std::set<std::uint64_t> keys;
    std::size_t inserts = 0;
    std::uint64_t sum = 0;
    for_each_key(problem, 5, [&](std::uint64_t key) {
      keys.insert(key);
      sum += key;
      ++inserts;
    });
    EXPECT_EQ(inserts, 1003u);
    EXPECT_EQ(keys.size(), nodes(problem));
    EXPECT_EQ(insert_task(problem, 5), (InsertTotals{.distinct = keys.size(), .digest = sum}));
  }
}

TEST(Insert, TeamOfAnyShapeAgreesWithTheClosedForm) {
  const InsertProblem problem{.tasks = 9, .inserts = 300, .new_share = 0.1};
  for (const auto& [processes, threads] : {std::pair{1, 1}, {1, 2}, {2, 1}, {3, 2}}) {
    team::Team team({.processes = processes, .threads = threads});
    EXPECT_NO_THROW(verify(problem, insert(team, problem))) << processes << " x " << threads;
  }
}

TEST(Insert, NothingToDoGivesNothing) {
  team::Team team({.processes = 1, .threads = 1});
  EXPECT_TRUE(insert(team, {.tasks = 0}).empty());
  EXPECT_EQ(insert_task({.inserts = 0}, 0), InsertTotals());
}

TEST(Insert, VerifyNamesTheTaskThatDiffers) {
  const InsertProblem problem{.tasks = 2, .inserts = 10};
  team::Team team({.processes = 1, .threads = 1});
  auto totals = insert(team, problem);
  --totals[1].distinct;
  try {
    verify(problem, totals);
    ADD_FAILURE() << "no exception";
  } catch (const core::VerificationError& error) {
    EXPECT_NE(std::string(error.what()).find("task 1"), std::string::npos) << error.what();
  }
}

TEST(Insert, RefusesAShareThatCannotBe) {
  EXPECT_THROW(check(InsertProblem{.new_share = -0.1}), core::UsageError);
  EXPECT_THROW(check(InsertProblem{.new_share = 1.01}), core::UsageError);
}

}  // namespace
}  // namespace tabane::malloc_map
