#include "tabane/team/places.h"

#include <gtest/gtest.h>

namespace tabane::team {
namespace {

Machine two_nodes() { return Machine(core::Topology::synthetic("pack:2 numa:1 core:2 pu:2")); }

TEST(MachineLoad, CountsTheMachine) {
  const Machine machine = two_nodes();
  EXPECT_EQ(machine.pus(), 8);
  EXPECT_EQ(machine.cores(), 4);
  EXPECT_EQ(machine.nodes(), 2);
  EXPECT_EQ(machine.node_cores(), 2);
  EXPECT_EQ(machine.node_pus(), 4);
}

TEST(MachineLoad, PutsProcessesOnNodesInTurn) {
  Machine machine = two_nodes();
  const ShapeLoad load = machine.load({2, 2});
  ASSERT_EQ(load.size(), 1u);
  EXPECT_EQ(load[0].nodes, 2);
  ASSERT_EQ(load[0].groups.size(), 1u);
  EXPECT_EQ(load[0].groups[0].count, 2);
  EXPECT_EQ(load[0].groups[0].on_pu, 1);
  EXPECT_EQ(load[0].groups[0].pus_of_core, 1);
  EXPECT_EQ(load[0].groups[0].nodes_spanned, 1);
}

TEST(MachineLoad, KnowsSharedCoresAndSharedPus) {
  Machine machine = two_nodes();
  const ShapeLoad full = machine.load({2, 4});
  ASSERT_EQ(full.size(), 1u);
  EXPECT_EQ(full[0].groups[0].pus_of_core, 2);
  EXPECT_EQ(full[0].groups[0].on_pu, 1);
  const ShapeLoad twice = machine.load({4, 4});
  ASSERT_EQ(twice.size(), 1u);
  EXPECT_EQ(twice[0].groups[0].on_pu, 2);
  EXPECT_EQ(twice[0].groups[0].count, 8);
}

TEST(MachineLoad, KnowsProcessesThatSpanNodes) {
  Machine machine = two_nodes();
  const ShapeLoad load = machine.load({1, 8});
  ASSERT_EQ(load.size(), 1u);
  EXPECT_EQ(load[0].nodes, 2);
  EXPECT_EQ(load[0].groups[0].nodes_spanned, 2);
}

TEST(MachineLoad, HoldsEveryWorkerOnce) {
  Machine machine = two_nodes();
  for (int p = 1; p <= 9; ++p) {
    for (int t = 1; t <= 9; ++t) {
      int workers = 0;
      for (const NodeLoad& node : machine.load({p, t})) {
        for (const WorkerGroup& group : node.groups) workers += group.count * node.nodes;
      }
      EXPECT_EQ(workers, p * t);
    }
  }
}

}  // namespace
}  // namespace tabane::team
