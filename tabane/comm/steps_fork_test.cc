#include "tabane/comm/steps.h"

#include <gtest/gtest.h>

#include "tabane/comm/launch.h"
#include "tabane/core/clock.h"

namespace tabane::comm {
namespace {

enum Step { kOuter, kInner, kUnused };

void spend(double seconds) {
  core::Clock& clock = core::tick_clock();
  const double end = clock.now() + seconds;
  while (clock.now() < end) {
  }
}

TEST(Steps, CountEachMomentOnce) {
  const auto table =
      launch_result<StepTable>({.ranks = 2, .transport = TransportKind::shm}, [](Comm& comm) {
        Steps steps(comm, {"outer", "inner", "unused"});
        for (int i = 0; i <= comm.rank(); ++i) {
          const auto outer = steps.in(kOuter);
          spend(1e-3);
          const auto inner = steps.in(kInner);
          spend(4e-3);
        }
        return steps.gather();
      });
  ASSERT_TRUE(table);
  ASSERT_EQ(table->ranks.size(), 2U);
  EXPECT_EQ(table->names, (std::vector<std::string>{"outer", "inner", "unused"}));
  for (std::uint64_t rank : {0, 1}) {
    EXPECT_EQ(table->ranks[rank][kOuter].times, rank + 1);
    EXPECT_EQ(table->ranks[rank][kInner].times, rank + 1);
    EXPECT_GT(table->ranks[rank][kInner].seconds, 3.9e-3 * static_cast<double>(rank + 1));
    EXPECT_GT(table->ranks[rank][kOuter].seconds, 0.9e-3 * static_cast<double>(rank + 1));
    EXPECT_EQ(table->ranks[rank][kUnused], StepTime{});
  }
  EXPECT_DOUBLE_EQ(table->mean_seconds(kInner),
                   (table->ranks[0][kInner].seconds + table->ranks[1][kInner].seconds) / 2);
}

TEST(StepTable, TellsTheMostOfAStepAndOfARank) {
  const StepTable table{{"a", "b"}, {{{3, 5}, {1, 1}}, {{2, 4}, {7, 3}}}};
  EXPECT_DOUBLE_EQ(table.mean_seconds(0), 4.5);
  EXPECT_DOUBLE_EQ(table.most_seconds(0), 5);
  EXPECT_DOUBLE_EQ(table.most_seconds(1), 3);
  EXPECT_EQ(table.most_times(0), 3U);
  EXPECT_EQ(table.most_times(1), 7U);
  EXPECT_DOUBLE_EQ(table.seconds_of_slowest(), 7);
  EXPECT_DOUBLE_EQ(StepTable{}.seconds_of_slowest(), 0);
}

TEST(Steps, GoOnWithTheOuterOneWhereAnInnerEnds) {
  const auto table =
      launch_result<StepTable>({.ranks = 1, .transport = TransportKind::shm}, [](Comm& comm) {
        Steps steps(comm, {"outer", "inner", "unused"});
        {
          const auto outer = steps.in(kOuter);
          { const auto inner = steps.in(kInner); }
          spend(2e-3);
        }
        spend(2e-3);  // in no step
        return steps.gather();
      });
  ASSERT_TRUE(table);
  EXPECT_GT(table->ranks[0][kOuter].seconds, 1.9e-3);
  EXPECT_LT(table->ranks[0][kInner].seconds, table->ranks[0][kOuter].seconds);
}

}  // namespace
}  // namespace tabane::comm
