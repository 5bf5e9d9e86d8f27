#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/core/measurement.h"
#include "tabane/lab/probes/run_probe_test.h"
#include "tabane/lab/probes/working_set.h"

namespace tabane::lab {
namespace {

TEST(LevelProbes, CoverEveryLevelMixAndScope) {
  const auto probes = level_probes(core::Topology::synthetic("pack:1 l3:1 l2:2 l1d:1 core:1 pu:1"));
  int found = 0;
  for (const char* mix : {"read", "set", "copy", "triad"}) {
    for (const char* level : {"l1", "l2", "l3", "dram"}) {
      for (const char* scope : {"core", "machine"}) {
        const std::string name = std::string("memory.bandwidth.") + mix + "." + level + "." + scope;
        found += std::any_of(probes.begin(), probes.end(),
                             [&](const Probe& probe) { return probe.name == name; });
      }
    }
  }
  EXPECT_EQ(found, 32);
}

TEST(LevelProbes, OfOneLevelAreVisitedTogether) {
  const auto probes = level_probes(this_machine());
  const auto visits = visits_of(probes);
  EXPECT_EQ(visits.size(), 2 * memory_levels(this_machine()).size());
  EXPECT_EQ(visits.front().size(), 4 + vector_kernels().size());
}

TEST(LevelProbes, HoldTheMachineAgainstItsCoresInCachesOfTheirOwn) {
  const ProbeRun run = run_probe(level_probes, "memory.bandwidth.read.l1.machine", true, 0.1);
  const Result& result = run.result("memory.bandwidth.read.l1.machine");
  if (!result.value) GTEST_SKIP() << result.reason;
  EXPECT_GT(*result.value, 1e8);
  EXPECT_EQ(result.limit.has_value(), this_machine().core_count() > 1);
}

// The limit is measured with the kernel, so whatever the machine does the kernel can hardly pass
// it; a limit in another unit or by another count of elements would be off by a factor of eight or
// more.
TEST(LevelProbes, HoldKernelsAgainstARooflineOfTheSameRounds) {
  for (const char* name : {"simd.dot.l1", "simd.sum.l1", "simd.axpy.l1", "simd.copy.l1"}) {
    const ProbeRun run = run_probe(level_probes, name, true, 0.1);
    const Result& result = run.result(name);
    const auto share = result.share_of_limit();
    ASSERT_TRUE(share) << name;
    EXPECT_EQ(share->pairs, result.samples.size()) << name;
    EXPECT_GT(share->value, 0.1) << name;
    EXPECT_LT(share->value, 4) << name;
  }
}

TEST(LevelProbes, GiveOperationsOrBytesASecond) {
  for (const Probe& probe : level_probes(this_machine())) {
    const bool moves_only = !probe.name.starts_with("simd.") ||
                            probe.name.starts_with("simd.set") ||
                            probe.name.starts_with("simd.copy");
    EXPECT_EQ(probe.unit, moves_only ? "B/s" : "FLOP/s");
  }
}

// A flaw of one loop cannot hide in its limit: the roof is the best of many.
TEST(Fastest, FindsTheSoundLoopAmongSlowOnes) {
  WorkingSet set(16 * 1024);
  std::vector<Loop> loops = roofs_of(Mix::read);
  ASSERT_GE(loops.size(), 3u);
  const auto slowed = [](const Loop& loop) {
    Loop slow = loop;
    slow.name = "slow";
    slow.on = [on = loop.on](WorkingSet& where) -> core::Work {
      return [pass = on(where)](std::uint64_t iterations) {
        for (int times = 0; times < 4; ++times) pass(iterations);
      };
    };
    return slow;
  };
  const Loop sound = loops.front();
  for (Loop& loop : loops) loop = slowed(loop);
  loops.insert(loops.begin() + 1, sound);
  const auto best = fastest(loops, 2, [&](const Loop& loop) {
    return core::Contender{.name = loop.name, .work = loop.on(set)};
  });
  ASSERT_EQ(best.size(), 2u);
  EXPECT_EQ(best.front().name, sound.name);
}

// Data of 48 MiB beside a cache of 32 that the system does not state: half of them fit it.
TEST(GainOfHalf, TellsMemoryFromACache) {
  const auto machine = [](double cache, double data) {
    return [=](bool half) { return (half ? data / 2 : data) <= cache ? 100e9 : 40e9; };
  };
  EXPECT_DOUBLE_EQ(gain_of_half(machine(32, 48)).interval.low, 2.5);
  EXPECT_DOUBLE_EQ(gain_of_half(machine(32, 384)).value, 1);
}

TEST(LevelProbes, SayHowMuchHalfOfTheDataOfMemoryGain) {
  for (const char* name :
       {"memory.bandwidth.copy.dram.core", "memory.bandwidth.copy.dram.machine"}) {
    const ProbeRun run = run_probe(level_probes, name, true, 0.1);
    const Json& gain = run.result(name).details[kGainOfHalf];
    ASSERT_EQ(gain.size(), 3u) << name;
    EXPECT_LE(gain[1], gain[0]);
    EXPECT_GE(gain[2], gain[0]);
  }
}

TEST(RefuseDisturbed, GivesNoFigureOfThreadsThatDidNotRun) {
  core::Series series;
  series.samples = {1, 1, 1, 1, 1};
  series.disturbed = 2;
  Result result;
  EXPECT_FALSE(refuse_disturbed(result, series, {1, 1, 1, 1, 1}));
  EXPECT_FALSE(result.value);
  EXPECT_NE(result.reason.find("2 of 5 samples"), std::string::npos) << result.reason;
  series.disturbed = 1;
  EXPECT_TRUE(refuse_disturbed(result, series, {1, 1, 1, 1, 1}));
  EXPECT_EQ(result.value, 1);
}

}  // namespace
}  // namespace tabane::lab
