#include "tabane/core/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tabane/core/error.h"

namespace tabane::core {
namespace {

using List = std::vector<unsigned>;

List order_of(const Placement& plan) {
  List order;
  for (const WorkerPlace& place : plan.places) {
    EXPECT_EQ(place.pus.size(), 1u);
    order.push_back(place.pus.front());
  }
  return order;
}

List plan_order(const char* machine, PlacementPolicy policy, int processes, int workers) {
  return order_of(plan_placement(Topology::synthetic(machine), policy, processes, workers));
}

constexpr PlacementPolicy kBindingPolicies[] = {PlacementPolicy::compact, PlacementPolicy::scatter,
                                                PlacementPolicy::per_numa_node};

constexpr const char* kMachines[] = {"pu:1",
                                     "core:3 pu:1",
                                     "pack:4 core:4 pu:1",
                                     "pack:4 numa:1 core:4 pu:1",
                                     "pack:2 numa:2 core:8 pu:2",
                                     "pack:2 l3:3 core:2 pu:2",
                                     "[numa(memory=1GB)] pack:2 [numa] core:2 pu:1",
                                     "pack:8 numa:1 core:32 pu:2"};

TEST(PlacementPolicyName, IsReadBack) {
  for (const char* name : {"compact", "scatter", "numa", "none"}) {
    EXPECT_EQ(to_string(parse_placement_policy(name)), name);
  }
  EXPECT_THROW(parse_placement_policy("close"), UsageError);
}

TEST(Placement, CompactFillsNeighbours) {
  EXPECT_EQ(plan_order("pack:2 numa:2 core:8 pu:2", PlacementPolicy::compact, 1, 4),
            (List{0, 1, 2, 3}));
  EXPECT_EQ(plan_order("pack:4 core:4 pu:1", PlacementPolicy::compact, 2, 3),
            (List{0, 1, 2, 3, 4, 5}));
}

TEST(Placement, ScatterTakesPackagesInTurnThenCores) {
  EXPECT_EQ(plan_order("pack:4 core:4 pu:1", PlacementPolicy::scatter, 1, 6),
            (List{0, 4, 8, 12, 1, 5}));
}

TEST(Placement, ScatterTakesNodesInTurnInsidePackagesAndSecondPusLast) {
  // Node k holds cores 8k … 8k+7 and PUs 16k … 16k+15; packages hold nodes {0,1} and {2,3}.
  const List order = plan_order("pack:2 numa:2 core:8 pu:2", PlacementPolicy::scatter, 1, 33);
  EXPECT_EQ((List{order.begin(), order.begin() + 6}), (List{0, 32, 16, 48, 2, 34}));
  EXPECT_EQ(order[31], 62u);
  EXPECT_EQ(order[32], 1u);
}

TEST(Placement, PerNodeTakesNodesInTurnAndCoresFirst) {
  EXPECT_EQ(plan_order("pack:2 numa:2 core:8 pu:2", PlacementPolicy::per_numa_node, 5, 2),
            (List{0, 2, 16, 18, 32, 34, 48, 50, 4, 6}));
  const List full = plan_order("pack:2 numa:2 core:8 pu:2", PlacementPolicy::per_numa_node, 1, 9);
  EXPECT_EQ(full, (List{0, 2, 4, 6, 8, 10, 12, 14, 1}));
}

TEST(Placement, PerNodeSpreadsAProcessThatIsTooBigForANodeAndSaysSo) {
  const auto machine = Topology::synthetic("pack:2 numa:1 core:2 pu:2");
  const auto plan = plan_placement(machine, PlacementPolicy::per_numa_node, 1, 5);
  EXPECT_EQ(order_of(plan), (List{0, 2, 1, 4, 6}));
  EXPECT_FALSE(plan.oversubscribed);
  EXPECT_NE(plan.remark.find("span NUMA nodes"), std::string::npos);
}

TEST(Placement, PerNodeFindsRoomOnAnotherNodeWhenTheOneInTurnIsFull) {
  // Three workers leave one PU on each of four nodes: the fifth process is made of those.
  const auto machine = Topology::synthetic("pack:4 numa:1 core:4 pu:1");
  const auto plan = plan_placement(machine, PlacementPolicy::per_numa_node, 5, 3);
  EXPECT_EQ(plan.pus_of_process(4), (List{3, 7, 11}));
}

TEST(Placement, NoneBindsNothing) {
  const auto plan = plan_placement(Topology::synthetic("core:2 pu:1"), PlacementPolicy::none, 2, 3);
  ASSERT_EQ(plan.places.size(), 6u);
  for (const WorkerPlace& place : plan.places) EXPECT_TRUE(place.pus.empty());
  EXPECT_TRUE(plan.pus_of_process(1).empty());
}

TEST(Placement, ListsEveryWorkerOfEveryProcessOnce) {
  for (const PlacementPolicy policy : kBindingPolicies) {
    const auto plan = plan_placement(Topology::synthetic("pack:4 core:4 pu:1"), policy, 3, 4);
    ASSERT_EQ(plan.places.size(), 12u);
    for (int p = 0; p < 3; ++p) {
      for (int w = 0; w < 4; ++w) {
        EXPECT_EQ(plan.at(p, w).process, p);
        EXPECT_EQ(plan.at(p, w).worker, w);
      }
    }
  }
}

TEST(Placement, GivesDistinctPusWhenTheyFitAndEvenSharesWhenNot) {
  for (const char* description : kMachines) {
    const auto machine = Topology::synthetic(description);
    const std::size_t pus = machine.pus().size();
    for (const PlacementPolicy policy : kBindingPolicies) {
      for (const auto& [processes, workers] :
           {std::pair{1, 1}, {1, 7}, {5, 3}, {16, 1}, {4, 128}}) {
        const auto plan = plan_placement(machine, policy, processes, workers);
        const List order = order_of(plan);
        const std::set<unsigned> used(order.begin(), order.end());
        for (const unsigned pu : used) EXPECT_NE(machine.find_pu(pu), nullptr);
        EXPECT_EQ(plan.oversubscribed, order.size() > pus);
        EXPECT_EQ(plan.remark.find("share") != std::string::npos, plan.oversubscribed);
        if (!plan.oversubscribed) {
          EXPECT_EQ(used.size(), order.size()) << description;
        } else if (policy != PlacementPolicy::per_numa_node || machine.numa_nodes().size() == 1) {
          EXPECT_EQ(used.size(), pus) << description;
        }
      }
    }
  }
}

TEST(Placement, KeepsAProcessOnOneNodeWhereItsWorkersFit) {
  for (const char* description : kMachines) {
    const auto machine = Topology::synthetic(description);
    std::size_t largest = 0;
    for (const NumaNode& node : machine.numa_nodes()) largest = std::max(largest, node.pus.size());
    const auto nodes =
        static_cast<int>(std::count_if(machine.numa_nodes().begin(), machine.numa_nodes().end(),
                                       [](const NumaNode& node) { return !node.pus.empty(); }));
    // As many processes as nodes, and more of them than the machine has room for.
    for (const int processes : {nodes, 3 * nodes}) {
      const auto plan = plan_placement(machine, PlacementPolicy::per_numa_node, processes,
                                       static_cast<int>(largest));
      for (int p = 0; p < processes; ++p) {
        std::set<unsigned> used;
        for (const unsigned pu : plan.pus_of_process(p)) {
          used.insert(machine.find_pu(pu)->numa_node);
        }
        EXPECT_EQ(used.size(), 1u) << description << " process " << p;
      }
    }
  }
}

TEST(Placement, UsesEveryCoreBeforeASecondPuWithScatter) {
  const auto machine = Topology::synthetic("pack:8 numa:1 core:32 pu:2");
  ASSERT_EQ(machine.pus().size(), 512u);
  const auto plan = plan_placement(machine, PlacementPolicy::scatter, 8, 32);
  std::map<unsigned, int> on_core;
  for (const unsigned pu : order_of(plan)) ++on_core[machine.find_pu(pu)->core];
  EXPECT_EQ(on_core.size(), 256u);
}

TEST(Placement, OnOnePuPutsEverythingThere) {
  for (const PlacementPolicy policy : kBindingPolicies) {
    EXPECT_EQ(plan_order("pu:1", policy, 2, 2), (List{0, 0, 0, 0}));
  }
}

TEST(Placement, FollowsAnExplicitListAndGoesRound) {
  const auto machine = Topology::synthetic("pack:4 core:4 pu:1");
  EXPECT_EQ(order_of(plan_placement(machine, List{5, 2, 9}, 2, 1)), (List{5, 2}));
  const auto round = plan_placement(machine, List{5, 2, 9}, 2, 2);
  EXPECT_EQ(order_of(round), (List{5, 2, 9, 5}));
  EXPECT_TRUE(round.oversubscribed);
}

TEST(Placement, RefusesPusThatAreNotUsableAndNamesThoseThatAre) {
  const auto machine = Topology::synthetic("pack:4 core:4 pu:1");
  EXPECT_THROW(plan_placement(machine, List{}, 1, 1), UsageError);
  try {
    plan_placement(machine, List{0, 16}, 1, 1);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("CPU 16"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("0-15"), std::string::npos);
  }
}

TEST(Placement, RefusesCountsThatMeanNothing) {
  const auto machine = Topology::synthetic("core:2 pu:1");
  for (const auto& [processes, workers] :
       {std::pair{0, 1}, {1, 0}, {-1, -1}, {1024, 1025}, {2'000'000'000, 2'000'000'000}}) {
    EXPECT_THROW(plan_placement(machine, PlacementPolicy::none, processes, workers), UsageError);
  }
}

}  // namespace
}  // namespace tabane::core
