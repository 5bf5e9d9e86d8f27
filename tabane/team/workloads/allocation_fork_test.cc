#include "tabane/team/workloads/allocation.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "tabane/core/error.h"

namespace tabane::workloads {
namespace {

TEST(Allocate, SmallChunksTouchOnePageEach) {
  const AllocateTotals totals = allocate_task({.requests = 100, .most_small_bytes = 4096}, 3);
  EXPECT_EQ(totals.pages, 100u);
  EXPECT_GE(totals.bytes, 1600u);
  EXPECT_LE(totals.bytes, 409600u);
}

TEST(Allocate, ChunksOfOneSizeHaveThatSize) {
  const AllocateProblem problem{.tasks = 1,
                                .requests = 5,
                                .large_share = 1,
                                .kept = 2,
                                .least_large_bytes = 8193,
                                .most_large_bytes = 8193};
  const AllocateTotals totals = allocate_task(problem, 0);
  EXPECT_EQ(totals.bytes, 5u * 8193);
  EXPECT_EQ(totals.pages, 15u);
}

TEST(Allocate, MixHasBothKinds) {
  const AllocateProblem problem{.requests = 400, .large_share = 0.25};
  const double bytes = static_cast<double>(allocate_task(problem, 0).bytes);
  // Sizes are drawn evenly: on average 2056 bytes and 640 KiB.
  EXPECT_NEAR(bytes / 400 / (0.75 * 2056 + 0.25 * 655'360), 1, 0.25);
}

TEST(Allocate, TasksDiffer) {
  const AllocateProblem problem{.requests = 50};
  EXPECT_NE(allocate_task(problem, 0), allocate_task(problem, 1));
  EXPECT_EQ(allocate_task(problem, 1), allocate_task(problem, 1));
}

TEST(Allocate, TeamOfAnyShapeFindsEveryMarkAgain) {
  const AllocateProblem problem{.tasks = 7, .requests = 60, .large_share = 0.1, .kept = 3};
  for (const auto& [processes, threads] : {std::pair{1, 1}, {1, 2}, {2, 1}, {2, 2}}) {
    team::Team team({.processes = processes, .threads = threads});
    const auto totals = allocate(team, problem);
    EXPECT_NO_THROW(verify(problem, totals)) << processes << " x " << threads;
  }
}

TEST(Allocate, NothingToDoGivesNothing) {
  team::Team team({.processes = 1, .threads = 1});
  EXPECT_TRUE(allocate(team, {.tasks = 0}).empty());
  EXPECT_EQ(allocate_task({.requests = 0}, 0), AllocateTotals());
}

TEST(Allocate, VerifyNamesTheTaskThatDiffers) {
  const AllocateProblem problem{.tasks = 3, .requests = 10};
  team::Team team({.processes = 1, .threads = 1});
  auto totals = allocate(team, problem);
  totals[2].marks ^= 1;
  try {
    verify(problem, totals);
    ADD_FAILURE() << "no exception";
  } catch (const core::VerificationError& error) {
    EXPECT_NE(std::string(error.what()).find("task 2"), std::string::npos) << error.what();
  }
  totals.pop_back();
  EXPECT_THROW(verify(problem, totals), core::VerificationError);
}

TEST(Allocate, RefusesWhatCannotBe) {
  EXPECT_THROW(check(AllocateProblem{.large_share = 1.5}), core::UsageError);
  EXPECT_THROW(check(AllocateProblem{.large_share = std::numeric_limits<double>::quiet_NaN()}),
               core::UsageError);
  EXPECT_THROW(check(AllocateProblem{.kept = 0}), core::UsageError);
  EXPECT_THROW(check(AllocateProblem{.least_large_bytes = 10, .most_large_bytes = 9}),
               core::UsageError);
  EXPECT_NO_THROW(check(AllocateProblem{}));
}

TEST(DistinctAfter, NewKeysComeAtEvenDistances) {
  const InsertProblem tenth{.new_share = 0.1};
  EXPECT_EQ(tenth.distinct_after(0), 0u);
  EXPECT_EQ(tenth.distinct_after(1), 1u);
  EXPECT_EQ(tenth.distinct_after(19), 1u);
  EXPECT_EQ(tenth.distinct_after(20), 2u);
  EXPECT_EQ(tenth.distinct_after(100), 10u);
  EXPECT_EQ(InsertProblem{.new_share = 1}.distinct_after(7), 7u);
  EXPECT_EQ(InsertProblem{.new_share = 0}.distinct_after(7), 1u);
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
    EXPECT_EQ(keys.size(), problem.distinct_after(problem.inserts));
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

}  // namespace tabane::workloads
