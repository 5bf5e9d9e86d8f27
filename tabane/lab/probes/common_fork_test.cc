#include "tabane/lab/probes/common.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <set>

#include "tabane/lab/probes/run_probe_test.h"

namespace tabane::lab {
namespace {

// ---- what holds for the probes of all families that bind threads, place memory or fork ----

constexpr const char* kHere[] = {
    "clock.skew",   "clock.core_rate", "comm.latency", "core_to_core.latency", "numa.bandwidth",
    "numa.latency", "fork.cost",       "fork.tree",    "thread.create",        "page_fault.rate"};

TEST(Probes, StopWhenAskedToAndLeaveNoChildBehind) {
  for (const std::string name : kHere) {
    try {
      run_probe(all_probes, name, true, 0.02, this_machine(), 1);
      ADD_FAILURE() << name;
    } catch (const Stopped&) {
    } catch (const NotHere&) {
      EXPECT_TRUE(name.starts_with("numa.") ? !memory_can_be_placed()
                                            : this_machine().pus().size() < 2)
          << name;
    }
  }
  // Also later than at the first look, when children were there.
  EXPECT_THROW(run_probe(team_probes, "fork.tree", true, 0.02, this_machine(), 2), Stopped);
  EXPECT_THROW(run_probe(latency_probes, "memory.latency", true, 0.05, this_machine(), 2), Stopped);
  errno = 0;
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Probes, AreNotHereOnAnotherMachine) {
  for (const char* machine : {"pack:2 core:2 pu:1", "numa:2 core:2 pu:1"}) {
    const auto other = core::Topology::synthetic(machine);
    for (const char* name : kHere)
      EXPECT_THROW(run_probe(all_probes, name, true, 0.02, other), NotHere) << name << machine;
  }
}

// ---- what they decide alike ----

TEST(OnePuPerCore, LeavesOutTheSecondPusOfCores) {
  const auto topology = core::Topology::synthetic("pack:2 core:4 pu:2");
  const auto pus = one_pu_per_core(topology);
  EXPECT_EQ(pus.size(), 8u);
  std::set<unsigned> cores;
  for (unsigned pu : pus) cores.insert(topology.find_pu(pu)->core);
  EXPECT_EQ(cores.size(), 8u);
}

TEST(MemoryLevels, AreHalfOfEachCacheAndForMemoryFourTimesTheLastForEachStream) {
  // Two packages with 32 MiB shared by 8 cores each, 512 KiB and 32 KiB of their own.
  const auto levels =
      memory_levels(core::Topology::synthetic("pack:2 [numa(memory=64GB)] l3:1(size=33554432) "
                                              "l2:8(size=524288) l1d:1(size=32768) core:1 pu:1"));
  ASSERT_EQ(levels.size(), 4u);
  EXPECT_EQ(levels[0].name, "l1");
  EXPECT_EQ(levels[0].core_bytes, 16u << 10);
  EXPECT_EQ(levels[1].core_bytes, 256u << 10);
  EXPECT_EQ(levels[2].name, "l3");
  EXPECT_EQ(levels[2].core_bytes, 16u << 20);
  EXPECT_EQ(levels[2].machine_bytes, 2u << 20);
  EXPECT_EQ(levels[3].name, "dram");
  EXPECT_EQ(levels[3].core_bytes, 384u << 20);
  EXPECT_EQ(levels[3].machine_bytes, 384u << 20);
}

TEST(MemoryLevels, OfAHostsCacheTakeWhatACoreMayGet) {
  // A virtual machine of two cores that states the 480 MiB of its host.
  const auto levels =
      memory_levels(core::Topology::synthetic("pack:1 [numa(memory=22GiB)] l3:1(size=503316480) "
                                              "l2:2(size=2097152) l1d:1(size=49152) core:1 pu:1"));
  ASSERT_EQ(levels.size(), 4u);
  EXPECT_EQ(levels[1].core_bytes, 1u << 20);
  EXPECT_EQ(levels[2].core_bytes, 16u << 20);
  EXPECT_EQ(levels[2].machine_bytes, 16u << 20);
  EXPECT_EQ(levels[2].holds, 480u << 20);
  EXPECT_EQ(levels[3].core_bytes, std::uint64_t{1536} << 20);
  EXPECT_EQ(levels[3].machine_bytes, std::uint64_t{768} << 20);
  EXPECT_TRUE(levels[3].impossible.empty());
}

TEST(MemoryLevels, OfAllCoresTogetherTakeASixthOfTheMemoryAtMost) {
  // 96 cores with 16 MiB each, as 12 caches of 128 MiB.
  const auto levels = memory_levels(core::Topology::synthetic(
      "pack:1 [numa(memory=192GiB)] l3:12(size=134217728) l2:8 l1d:1 core:1 pu:1"));
  EXPECT_EQ(levels.back().core_bytes, 12 * (std::uint64_t{128} << 20));
  EXPECT_LE(96 * levels.back().machine_bytes, (std::uint64_t{192} << 30) / 6);
  EXPECT_TRUE(levels.back().impossible.empty());
}

TEST(MemoryLevels, RefuseMemoryThatCannotBeToldFromTheLastCache) {
  // 384 MiB of cache and 1 GiB of memory.
  const auto levels = memory_levels(core::Topology::synthetic(
      "pack:1 [numa(memory=1GB)] l3:1(size=402653184) l2:2 l1d:1 core:1 pu:1"));
  EXPECT_FALSE(levels.back().impossible.empty());
  EXPECT_THROW(require_possible(levels.back()), NotHere);
  EXPECT_NO_THROW(require_possible(levels.front()));
}

TEST(MemoryLevels, NeverEndWithoutMemory) {
  for (const char* machine : {"pu:1", "pack:4 core:4 pu:1", "pack:8 core:32 pu:2"}) {
    const auto levels = memory_levels(core::Topology::synthetic(machine));
    EXPECT_EQ(levels.back().name, "dram") << machine;
    std::uint64_t before = 0;
    for (const MemoryLevel& level : levels) {
      EXPECT_GT(level.core_bytes, before) << machine << " " << level.name;
      before = level.core_bytes;
    }
  }
}

}  // namespace

}  // namespace tabane::lab
