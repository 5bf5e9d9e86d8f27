#include "tabane/core/topology_kinds.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "tabane/core/fake_machine.h"

namespace tabane::core {
namespace {

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
