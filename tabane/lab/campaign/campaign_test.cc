#include "tabane/lab/campaign/campaign.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <new>
#include <string_view>
#include <system_error>

#include "tabane/core/error.h"
#include "tabane/core/fake_counter_test.h"

namespace tabane::lab {
namespace {

Contender counted(const char* name, double seconds, int& calls) {
  return {{{"way", name}}, [=, &calls] {
            ++calls;
            return Sample{seconds, {{"faults", 7.0}}};
          }};
}

TEST(Campaign, FillsPointsWithSamplesInTurnAndWhatWasSeenBeside) {
  int calls = 0;
  Campaign campaign({});
  campaign.add({.what = "a", .body = [&](Visit& visit) {
                  visit.in_turn({counted("x", 1, calls), counted("y", 2, calls)},
                                {.most = 5, .budget_seconds = 100, .warmups = 1});
                }});
  EXPECT_TRUE(campaign.run());
  EXPECT_EQ(calls, 12);  // one warm-up and five rounds of two
  const Point* x = campaign.points.find({{"way", "x"}});
  const Point* y = campaign.points.find({{"way", "y"}});
  ASSERT_TRUE(x != nullptr && y != nullptr);
  EXPECT_EQ(x->samples, std::vector<double>(5, 1));
  EXPECT_EQ(x->beside.at("faults"), std::vector<double>(5, 7));
  EXPECT_EQ(x->beside.at("order").size(), 5u);
  EXPECT_EQ(x->beside.at("order")[0] + y->beside.at("order")[0], 1);  // 0 and 1 in some order
  EXPECT_EQ(ratio_in_turn(y, x)->value, 2);
}

// What was seen beside five samples that take so long, each with counters that give 1000.
decltype(Point::beside) counted_beside(double seconds) {
  Campaign campaign({});
  campaign.counters = core::Counters(
      core::Counted::thread,
      [](const core::CounterEvent&, core::Counted) {
        return core::counter_of({1000, 10, 10});
      },
      core::SystemFiles("/nowhere"));
  int calls = 0;
  campaign.add({.what = "a", .body = [&](Visit& visit) {
                  visit.in_turn({counted("x", seconds, calls)}, {.most = 5, .budget_seconds = 100});
                }});
  EXPECT_TRUE(campaign.run());
  return campaign.points[0].beside;
}

// Not in the first sample: nobody knows yet whether it is long enough.
TEST(Campaign, NotesWhatTheProcessorCounts) {
  const auto beside = counted_beside(1);
  for (const char* name : {"instructions", "cycles", "cache_misses", "tlb_misses"}) {
    const auto& counts = beside.at(name);
    ASSERT_EQ(counts.size(), 5u);
    EXPECT_TRUE(std::isnan(counts[0]));
    for (std::size_t i = 1; i < counts.size(); ++i) EXPECT_EQ(counts[i], 1000);
  }
}

TEST(Campaign, CountsNoShortSamples) {
  EXPECT_FALSE(counted_beside(9e-3).contains("instructions"));
}

TEST(Campaign, AppendsToThePointsOfABlockInEveryPass) {
  int calls = 0;
  Campaign campaign({});
  for (const char* block : {"a", "b"})
    campaign.add({.what = block, .body = [&](Visit& visit) {
                    visit.in_turn({counted("x", 1, calls)}, {.most = 2, .budget_seconds = 100});
                  }});
  EXPECT_TRUE(campaign.run({.passes = 3}));
  ASSERT_EQ(campaign.points.size(), 2u);  // the same factors in another block are another point
  EXPECT_EQ(campaign.points[0].samples.size(), 6u);
  EXPECT_FALSE(ratio_in_turn(&campaign.points[0], &campaign.points[1]));
}

// Three blocks, the second of which is refused by the machine.
void add_blocks(Campaign& campaign, const std::function<void()>& refuse, int& calls) {
  for (const char* block : {"a", "b", "c"})
    campaign.add({.what = block, .body = [&calls, refuse, block](Visit& visit) {
                    if (std::string_view(block) == "b") refuse();
                    visit.in_turn({counted(block, 1, calls)}, {.most = 2, .budget_seconds = 100});
                  }});
}

TEST(Campaign, KeepsTheOtherBlocksWhenTheMachineRefusesOne) {
  const std::function<void()> refusals[] = {
      [] { throw core::SystemError("fork", "rank 12", EAGAIN); },
      [] { throw std::system_error(EAGAIN, std::generic_category(), "thread"); },
      [] { throw std::bad_alloc(); },
      [] { throw core::LostError(3, 77, "broadcast", "killed by signal 9"); },
      [] { throw core::Error("a library failed"); }};
  for (const auto& refuse : refusals) {
    int calls = 0;
    Campaign campaign({});
    add_blocks(campaign, refuse, calls);
    EXPECT_TRUE(campaign.run({.passes = 2}));
    EXPECT_EQ(calls, 8);
    ASSERT_EQ(campaign.skipped.size(), 1u);
    EXPECT_EQ(campaign.skipped[0].name, "b");
    EXPECT_FALSE(campaign.skipped[0].reason.empty());
    EXPECT_NE(campaign.points.find({{"way", "c"}}), nullptr);
  }
}

TEST(Campaign, PassesOnWhatIsNotTheMachines) {
  int calls = 0;
  Campaign wrong_request({}), wrong_result({});
  add_blocks(
      wrong_request, [] { throw core::UsageError("-n 0"); }, calls);
  EXPECT_THROW(wrong_request.run(), core::UsageError);
  add_blocks(
      wrong_result, [] { throw core::VerificationError("the residual", 17, 16); }, calls);
  EXPECT_THROW(wrong_result.run(), core::VerificationError);
}

TEST(Campaign, FailsIfTheMachineRefusesEverything) {
  Campaign campaign({});
  campaign.add(
      {.what = "a", .body = [](Visit&) { throw core::SystemError("fork", "rank 1", EAGAIN); }});
  EXPECT_THROW(campaign.run(), core::SystemError);
}

TEST(Campaign, FailsWithTheOthersIfSeveralProcessesRunIt) {
  int calls = 0;
  Campaign campaign({});
  add_blocks(
      campaign, [] { throw core::SystemError("mmap", "1 GiB", ENOMEM); }, calls);
  EXPECT_THROW(campaign.run({.agree = [](bool yes) { return yes; }}), core::SystemError);
}

TEST(Effort, IsWholeInAllPassesTogether) {
  const Effort effort{.fewest = 10, .most = 100, .budget_seconds = 30, .warmups = 1};
  int fewest = 0, most = 0;
  for (int pass = 0; pass < 3; ++pass) {
    const Effort part = effort.part(pass, 3);
    EXPECT_GE(part.fewest, 3);
    EXPECT_DOUBLE_EQ(part.budget_seconds, 10);
    EXPECT_EQ(part.warmups, 1);
    fewest += part.fewest;
    most += part.most;
  }
  EXPECT_EQ(fewest, 10);
  EXPECT_EQ(most, 100);
}

TEST(Campaign, CountsTheOrderOnInLaterPasses) {
  Campaign campaign{Hooks{}};
  campaign.add({.what = "a", .body = [](Visit& visit) {
                  visit.in_turn({{{{"who", "x"}}, [] { return Sample{1}; }},
                                 {{{"who", "y"}}, [] { return Sample{2}; }}},
                                {.fewest = 2, .most = 2});
                }});
  EXPECT_TRUE(campaign.run({.passes = 2}));
  std::vector<double> orders;
  for (const Point& point : campaign.points) {
    const auto& order = point.beside.at("order");
    orders.insert(orders.end(), order.begin(), order.end());
  }
  std::sort(orders.begin(), orders.end());
  EXPECT_EQ(orders, (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(Campaign, KeepsWholeRoundsWhenItIsStopped) {
  int calls = 0;
  Hooks hooks;
  hooks.stop_requested = [&] { return calls >= 5; };
  Campaign campaign(hooks);
  campaign.add({.what = "a", .body = [&](Visit& visit) {
                  visit.in_turn({counted("x", 1, calls), counted("y", 1, calls)},
                                {.most = 99, .budget_seconds = 100});
                }});
  campaign.add({.what = "b", .body = [&](Visit&) { ADD_FAILURE() << "b was begun"; }});
  EXPECT_FALSE(campaign.run());
  for (const Point& point : campaign.points) EXPECT_EQ(point.samples.size(), 2u);
}

TEST(Campaign, CountsThePointsThatItHadNoTimeFor) {
  Campaign campaign({});
  const Factors planned{{"way", "x"}};
  campaign.add({.what = "a",
                .body =
                    [&](Visit& visit) {
                      visit.add(planned, {1, 2});
                    },
                .points = {planned, {{"way", "y"}}}});
  campaign.run();
  EXPECT_EQ(campaign.unmeasured(), (std::pair<std::size_t, std::size_t>{1, 2}));
}

TEST(Campaign, NamesWhatItRefusesOnce) {
  Campaign campaign({});
  campaign.add({.what = "a", .body = [](Visit& visit) { visit.skip("100 GiB", "no room"); }});
  campaign.run({.passes = 2});
  ASSERT_EQ(campaign.skipped.size(), 1u);
  EXPECT_EQ(campaign.skipped[0].reason, "no room");
}

TEST(Campaign, GoesFromNothingDoneToAlmostAllAndNeverBack) {
  std::vector<double> shown;
  Hooks hooks;
  hooks.progress = [&](const std::string&, double done, double) { shown.push_back(done); };
  int calls = 0;
  Campaign campaign(hooks);
  for (const double planned : {1.0, 3.0})
    campaign.add({.what = "a", .planned_seconds = planned, .body = [&](Visit& visit) {
                    visit.in_turn({counted("x", 1, calls)}, {.fewest = 4, .most = 4});
                  }});
  campaign.run();
  EXPECT_EQ(shown.front(), 0);
  EXPECT_TRUE(std::is_sorted(shown.begin(), shown.end()));
  EXPECT_LT(shown.back(), 1);
  EXPECT_GT(shown.back(), 0.5);
}

TEST(StepProgress, SaysRoughlyHowLongItTakes) {
  std::vector<std::string> plans;
  Hooks hooks;
  hooks.on_plan = [&](const std::string& plan) { plans.push_back(plan); };
  for (const double seconds : {9.0, 14.8, 57.6, 60.0, 89.0, 734.0}) StepProgress(hooks, {seconds});
  EXPECT_EQ(plans, (std::vector<std::string>{"it takes about 15 s", "it takes about 1 minute",
                                             "it takes about 1 minute", "it takes about 1 minute",
                                             "it takes about 12 minutes"}));
}

TEST(Campaign, DoesWhatAllProcessesAgreeOn) {
  int visits = 0;
  Campaign campaign({});
  campaign.add({.what = "a", .body = [&](Visit&) { ++visits; }});
  // Rank 0 wants to stop at the third question of the first kind.
  int asked = 0;
  EXPECT_FALSE(campaign.run({.passes = 10, .agree = [&](bool) { return ++asked == 5; }}));
  EXPECT_EQ(visits, 2);
}

}  // namespace
}  // namespace tabane::lab
