#include "tabane/core/topology_files.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "tabane/core/fake_machine_test.h"
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

using Pus = std::vector<unsigned>;

// What a topology that is read from these files says.
std::vector<CpuKind> kinds_of(const FakeMachine& files) {
  setenv("HWLOC_FSROOT", files.root().c_str(), 1);
  const Topology machine = Topology::detect();
  unsetenv("HWLOC_FSROOT");
  return {machine.cpu_kinds().begin(), machine.cpu_kinds().end()};
}

TEST(CpuKinds, AreNoneOnAUniformMachine) {
  FakeMachine files;
  crossing_nodes(files);
  EXPECT_TRUE(kinds_of(files).empty());
  EXPECT_TRUE(Topology::synthetic("pack:2 core:4 pu:2").cpu_kinds().empty());
}

TEST(CpuKinds, AreThoseOfTheKernelsCounters) {
  FakeMachine files;
  crossing_nodes(files);
  files.file("/sys/devices/cpu_core/cpus", "0-3\n").file("/sys/devices/cpu_atom/cpus", "4-7\n");
  const auto kinds = kinds_of(files);
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[0].name, "performance cores");
  EXPECT_EQ(kinds[0].pus, (Pus{0, 1, 2, 3}));
  EXPECT_EQ(kinds[1].name, "efficient cores");
  EXPECT_EQ(kinds[1].pus, (Pus{4, 5, 6, 7}));
}

TEST(CpuKinds, AreThoseOfHwlocOtherwise) {
  FakeMachine files;
  crossing_nodes(files);
  for (unsigned pu = 0; pu < 8; ++pu) {
    files.file("/sys/devices/system/cpu/cpu" + std::to_string(pu) + "/cpu_capacity",
               pu < 6 ? "446\n" : "1024\n");
  }
  const auto kinds = kinds_of(files);
  ASSERT_EQ(kinds.size(), 2u);
  EXPECT_EQ(kinds[0].name, "cores of capacity 1024");
  EXPECT_EQ(kinds[0].pus, (Pus{6, 7}));
  EXPECT_EQ(kinds[1].pus, (Pus{0, 1, 2, 3, 4, 5}));
}

TEST(NameKinds, TellsTypesAndSpeedsFastestFirst) {
  const auto types = name_kinds({{{2, 3}, "IntelAtom", 3900}, {{0, 1}, "IntelCore", 4000}});
  ASSERT_EQ(types.size(), 2u);
  EXPECT_EQ(types[0].name, "performance cores");
  EXPECT_EQ(types[1].name, "efficient cores");
  const auto speeds = name_kinds({{{0}, "", 2000}, {{1}, "", 3300}});
  ASSERT_EQ(speeds.size(), 2u);
  EXPECT_EQ(speeds[0].name, "cores up to 3.30 GHz");
  EXPECT_EQ(speeds[1].name, "cores up to 2.00 GHz");
}

TEST(NameKinds, TakesCoresThatMayRunALittleFasterForTheSame) {
  const auto kinds = name_kinds({{{0, 1}, "", 5200}, {{2}, "", 5300}});
  ASSERT_EQ(kinds.size(), 1u);
  EXPECT_TRUE(usable_kinds(kinds, {{.os_index = 0}, {.os_index = 2}}).empty());
}

TEST(UsableKinds, LeavesOutWhatThisProcessMayNotUse) {
  const std::vector<CpuKind> kinds = {{"a", {0, 1}}, {"b", {3, 2}}};
  const std::vector<Pu> pus = {{.os_index = 1}, {.os_index = 2}, {.os_index = 3}};
  const auto usable = usable_kinds(kinds, pus);
  ASSERT_EQ(usable.size(), 2u);
  EXPECT_EQ(usable[0].pus, (Pus{1}));
  EXPECT_EQ(usable[1].pus, (Pus{2, 3}));
  EXPECT_TRUE(usable_kinds(kinds, {{.os_index = 3}}).empty());
}

}  // namespace
}  // namespace tabane::core
