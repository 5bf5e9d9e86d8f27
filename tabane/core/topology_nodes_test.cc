#include "tabane/core/topology_nodes.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "tabane/core/fake_machine.h"
#include "tabane/core/placement.h"

namespace tabane::core {
namespace {

constexpr unsigned kNodeOf[] = {0, 0, 0, 1, 1, 2, 2, 2};  // of each PU; two PUs are a package

class CrossingNodes : public testing::Test {
 protected:
  CrossingNodes() {
    crossing_nodes(files_);
    setenv("HWLOC_FSROOT", files_.root().c_str(), 1);
  }
  ~CrossingNodes() override { unsetenv("HWLOC_FSROOT"); }
  FakeMachine files_;
};

TEST_F(CrossingNodes, HaveThePusThatTheSystemLists) {
  testing::internal::CaptureStderr();
  const Topology machine = Topology::detect();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(machine.summary(), "4 packages x 2 cores x 1 PU, 3 NUMA nodes");
  for (const Pu& pu : machine.pus()) EXPECT_EQ(pu.numa_node, kNodeOf[pu.os_index]) << pu.os_index;
  EXPECT_EQ(machine.find_numa_node(0)->pus, (std::vector<unsigned>{0, 1, 2}));
  EXPECT_EQ(machine.find_numa_node(1)->pus, (std::vector<unsigned>{3, 4}));
  EXPECT_EQ(machine.find_numa_node(2)->pus, (std::vector<unsigned>{5, 6, 7}));
  EXPECT_NE(machine.correction().find("PUs 3-7"), std::string::npos) << machine.correction();
}

TEST_F(CrossingNodes, AreAllUsedByAPlacementOverNodes) {
  const Topology machine = Topology::detect();
  std::set<unsigned> used;
  for (const auto& place : plan_placement(machine, PlacementPolicy::per_numa_node, 3, 1).places) {
    for (const unsigned pu : place.pus) used.insert(kNodeOf[pu]);
  }
  EXPECT_EQ(used, (std::set<unsigned>{0, 1, 2}));
}

TEST(NodeLists, AreReadFromTheSystem) {
  FakeMachine machine;
  const std::string nodes = "/sys/devices/system/node";
  machine.file(nodes + "/node0/cpulist", "0-1,4\n")
      .file(nodes + "/node2/cpulist", "\n")  // memory only
      .file(nodes + "/node10/cpulist", "5\n")
      .file(nodes + "/possible", "0-63\n");
  EXPECT_EQ(read_node_lists(SystemFiles(machine.root())), (NodeLists{{0, {0, 1, 4}}, {10, {5}}}));
  EXPECT_TRUE(read_node_lists(SystemFiles(machine.root() + "/none")).empty());
}

TEST(CorrectNodes, ChangesOnlyWhatTheSystemTellsOtherwise) {
  std::vector<Pu> pus = {{.os_index = 0, .numa_node = 0}, {.os_index = 1, .numa_node = 0}};
  const std::vector<NumaNode> nodes = {{.os_index = 0}, {.os_index = 1}};
  EXPECT_EQ(correct_nodes(pus, nodes, {}), "");
  EXPECT_EQ(correct_nodes(pus, nodes, {{0, {0, 1}}}), "");
  // A node whose memory this process may not use is no place for its workers.
  EXPECT_EQ(correct_nodes(pus, nodes, {{0, {0}}, {5, {1}}}), "");
  EXPECT_EQ(pus[1].numa_node, 0u);
  EXPECT_NE(correct_nodes(pus, nodes, {{0, {0}}, {1, {1}}}).find("the PU 1 on"), std::string::npos);
  EXPECT_EQ(pus[0].numa_node, 0u);
  EXPECT_EQ(pus[1].numa_node, 1u);
}

TEST(CorrectNodes, LeavesADescriptionAsItIs) {
  EXPECT_EQ(Topology::synthetic("pack:2 numa:1 core:2 pu:1").correction(), "");
}

}  // namespace
}  // namespace tabane::core
