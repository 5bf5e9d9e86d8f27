#include <gtest/gtest.h>

#include "tabane/tools/explain/experiments.h"

namespace tabane::lab::explain {
namespace {

using core::Topology;
using Pus = std::vector<unsigned>;

TEST(DividedPus, GiveThievesOtherCoresAndLeaveTheCommandWhatItUses) {
  const auto divided = divide_pus(Topology::synthetic("core:4 pu:1"), 2, 4);
  EXPECT_EQ(divided.victim, (Pus{2, 3}));
  EXPECT_EQ(divided.thieves, (Pus{0, 1}));
  EXPECT_EQ(divided.siblings, Pus{});
  EXPECT_EQ(divided.impossible, "");
}

TEST(DividedPus, TakeAQuarterOfTheCoresFromACommandThatUsesAll) {
  const auto divided = divide_pus(Topology::synthetic("core:8 pu:2"), 16, 16);
  EXPECT_EQ(divided.victim.size(), 12u);  // with the siblings: it has work for them
  EXPECT_EQ(divided.thieves.size(), 2u);
  EXPECT_TRUE(divided.siblings.empty());
}

TEST(DividedPus, HaveNoMoreThievesThanThereIsMemoryFor) {
  EXPECT_EQ(divide_pus(Topology::synthetic("core:192 pu:1"), 1, 192).thieves.size(), kMostThieves);
}

TEST(DividedPus, KnowTheSiblingsThatACommandLeavesFree) {
  const auto divided = divide_pus(Topology::synthetic("core:2 pu:2"), 1, 4);
  EXPECT_EQ(divided.victim.size(), 1u);
  EXPECT_EQ(divided.siblings.size(), 1u);
  EXPECT_EQ(divided.thieves.size(), 1u);
}

TEST(DividedPus, PreferThievesOnTheSameNode) {
  const Topology topology = Topology::synthetic("numa:2 core:4 pu:1");
  const auto divided = divide_pus(topology, 1, 8);
  ASSERT_EQ(divided.victim.size(), 1u);
  for (const unsigned pu : divided.thieves)
    EXPECT_EQ(topology.find_pu(pu)->numa_node, topology.find_pu(divided.victim[0])->numa_node);
  EXPECT_EQ(divided.thieves.size(), 3u);
}

TEST(DividedPus, PreferThievesThatShareALastLevelCacheWithTheCommand) {
  const Topology topology = Topology::synthetic("pack:1 l3:4 core:8 pu:1");
  const auto one = divide_pus(topology, 2, 32);
  EXPECT_EQ(one.victim, (Pus{30, 31}));
  EXPECT_EQ(one.thieves, (Pus{24, 25, 26, 27, 28, 29}));
  const auto all = divide_pus(topology, 32, 32);
  EXPECT_EQ(all.victim.size(), 24u);
  EXPECT_EQ(all.thieves, (Pus{0, 1, 8, 9, 16, 17, 24, 25}));
  const auto own_caches = divide_pus(Topology::synthetic("pack:1 l3:4 core:1 pu:1"), 4, 4);
  EXPECT_EQ(own_caches.victim, (Pus{1, 2, 3}));
  EXPECT_EQ(own_caches.thieves, Pus{0});
}

TEST(DividedPus, AreImpossibleOnOneCoreAndWithinAQuota) {
  EXPECT_NE(divide_pus(Topology::synthetic("core:1 pu:1"), 1, 1).impossible, "");
  const auto one_core = divide_pus(Topology::synthetic("core:1 pu:2"), 1, 2);
  EXPECT_NE(one_core.impossible, "");
  EXPECT_EQ(one_core.siblings.size(), 1u);
  const auto quota = divide_pus(Topology::synthetic("core:4 pu:1"), 1, 1);
  EXPECT_NE(quota.impossible.find("control group"), std::string::npos);
  EXPECT_TRUE(quota.thieves.empty());
  EXPECT_EQ(divide_pus(Topology::synthetic("core:4 pu:1"), 1, 2).thieves.size(), 1u);
  EXPECT_TRUE(divide_pus(Topology::synthetic("core:4 pu:2"), 1, 1).siblings.empty());
  EXPECT_EQ(divide_pus(Topology::synthetic("core:4 pu:2"), 2, 3).siblings.size(), 1u);
}

TEST(ThievesOfProcessorTime, KeepToAQuota) {
  EXPECT_EQ(cpu_time_reason(64, 64, 64), "");
  EXPECT_EQ(cpu_time_reason(1, 4, 2), "");
  EXPECT_NE(cpu_time_reason(1.5, 4, 2), "");
  EXPECT_NE(cpu_time_reason(0, 64, 2), "");
}

TEST(Samples, AreSeveralRunsOfAVeryShortCommand) {
  EXPECT_EQ(runs_in_a_sample(1), 1);
  EXPECT_EQ(runs_in_a_sample(0.02), 1);
  EXPECT_EQ(runs_in_a_sample(0.01), 10);
  EXPECT_EQ(runs_in_a_sample(0), 1000);
}

TEST(Rounds, AreTwoOfFewerWaysRatherThanOneOfMore) {
  const Rounds all = plan_rounds(16, 0.1, 1000);
  EXPECT_EQ(all.ways, 16u);
  EXPECT_GT(all.rounds, 5);
  const Rounds few = plan_rounds(16, 5, 120);
  EXPECT_LT(few.ways, 16u);
  EXPECT_GT(few.ways, 4u);
  EXPECT_EQ(few.rounds, 2);
  // With the undisturbed ones no more runs than there is time for.
  EXPECT_LE((double(few.ways) + double(undisturbed_runs(few.ways))) * 2 * 5, 120);
  EXPECT_EQ(plan_rounds(16, 30, 120).rounds, 1);
  EXPECT_EQ(plan_rounds(16, 200, 120).ways, 0u);
}

class SubjectTest : public testing::Test {
 protected:
  SubjectTest() {
    for (const char* const name : program::thread_variables()) unsetenv(name);
  }

  Topology topology_ = Topology::synthetic("core:4 pu:1");
  Request request_{.command = {"xz", "-T{threads}", "{other}"}};
  Subject subject_{.request = request_, .topology = topology_};
};

TEST_F(SubjectTest, GetsItsThreads) {
  EXPECT_TRUE(subject_.takes_threads());
  EXPECT_EQ(subject_.command(3).arguments, (std::vector<std::string>{"xz", "-T3", "{other}"}));
  const ChildCommand bound = subject_.command(2, {.threads = 2});
  EXPECT_EQ(bound.cpus.size(), 2u);
  EXPECT_TRUE(std::ranges::any_of(bound.environment, [](const auto& variable) {
    return variable == std::pair<std::string, std::string>("OMP_NUM_THREADS", "2");
  }));
}

TEST_F(SubjectTest, StartsAsManyThreadsAsItsUserSays) {
  EXPECT_EQ(subject_.own_threads(), 4);
  setenv("OMP_NUM_THREADS", "3", 1);
  EXPECT_EQ(subject_.own_threads(), 3);
  unsetenv("OMP_NUM_THREADS");
}

TEST_F(SubjectTest, FollowsNumbersUnlessOneThreadWorksAndNothingSaysHowMany) {
  subject_.works_alone = true;
  EXPECT_TRUE(subject_.follows_numbers());
  request_.command = {"gzip"};
  EXPECT_FALSE(subject_.follows_numbers());
  request_.threads = {2};
  EXPECT_TRUE(subject_.follows_numbers());
  request_.threads = {};
  setenv("OMP_NUM_THREADS", "3", 1);
  EXPECT_TRUE(subject_.follows_numbers());
  unsetenv("OMP_NUM_THREADS");
  subject_.works_alone = false;
  EXPECT_TRUE(subject_.follows_numbers());
}

TEST_F(SubjectTest, IsRunWithEachNumberOfThreadsWhateverItsUserHasSet) {
  setenv("OMP_NUM_THREADS", "3", 1);
  request_.command = {"./solver"};
  request_.threads = {1};
  const Topology topology = Topology::synthetic("core:1 pu:1");
  const Ways ways = ways_of({.request = request_, .topology = topology}, 0, [](double) {});
  unsetenv("OMP_NUM_THREADS");
  const auto way = std::ranges::find(ways.all, Resource::threads, &Way::resource);
  ASSERT_NE(way, ways.all.end());
  EXPECT_EQ(std::ranges::count(way->command.environment,
                               std::pair<std::string, std::string>("OMP_NUM_THREADS", "1")),
            1);
  EXPECT_TRUE(way->command.cpus.empty());
}

TEST(NumbersOfThreads, AreNotFollowedByWhatKeepsMorePusBusy) {
  EXPECT_FALSE(may_have_threads(1.9, 1));
  EXPECT_TRUE(may_have_threads(1.05, 1));
  EXPECT_TRUE(may_have_threads(0.2, 1));
  EXPECT_FALSE(may_have_threads(7.8, 6));
}

}  // namespace
}  // namespace tabane::lab::explain
