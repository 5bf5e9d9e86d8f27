#include "tabane/lab/probes/core_to_core.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <variant>

#include "tabane/lab/probes/run_probe_test.h"

namespace tabane::lab {
namespace {

TEST(Tournament, LetsEveryPairMeetOnceInDisjointRounds) {
  for (const unsigned n : {2u, 3u, 4u, 5u, 64u, 65u, 512u}) {
    const auto rounds = tournament(n);
    EXPECT_EQ(rounds.size(), n % 2 == 0 ? n - 1 : n);
    std::set<PuPair> met;
    for (const auto& round : rounds) {
      EXPECT_EQ(round.size(), n / 2);
      std::set<unsigned> busy;
      for (const auto& [a, b] : round) {
        EXPECT_LT(a, b);
        EXPECT_LT(b, n);
        EXPECT_TRUE(busy.insert(a).second);
        EXPECT_TRUE(busy.insert(b).second);
        EXPECT_TRUE(met.insert({a, b}).second);
      }
    }
    EXPECT_EQ(met.size(), std::size_t{n} * (n - 1) / 2);
  }
}

TEST(Tournament, OfThreeHasThreeRoundsOfOnePair) {
  const auto rounds = tournament(3);
  ASSERT_EQ(rounds.size(), 3u);
  for (const auto& round : rounds) EXPECT_EQ(round.size(), 1u);
}

TEST(Tournament, IsEmptyWithoutASecondPlayer) {
  EXPECT_TRUE(tournament(0).empty());
  EXPECT_TRUE(tournament(1).empty());
}

std::set<unsigned> caches_of(const std::vector<core::Pu>& pus) {
  std::set<unsigned> caches;
  for (const core::Pu& pu : pus) caches.insert(pu.last_level_cache);
  return caches;
}

// 2 packages × 2 L3 × 4 cores × 2 PUs = 32 PUs, 16 cores, 4 groups.
const core::Topology& example() {
  static const auto topology = core::Topology::synthetic("pack:2 l3:2 core:4 pu:2");
  return topology;
}

TEST(SamplePus, TakesAllThatFit) {
  EXPECT_EQ(sample_pus(example().pus(), 32).size(), 32u);
  EXPECT_EQ(sample_pus(example().pus(), 100).size(), 32u);
}

TEST(SamplePus, TakesOneOfEachCoreNext) {
  const auto chosen = sample_pus(example().pus(), 16);
  std::set<unsigned> cores;
  for (const core::Pu& pu : chosen) {
    EXPECT_EQ(pu.smt, 0u);
    cores.insert(pu.core);
  }
  EXPECT_EQ(cores.size(), 16u);
}

TEST(SamplePus, SharesTheRestAmongTheCaches) {
  const auto chosen = sample_pus(example().pus(), 8);
  EXPECT_EQ(chosen.size(), 8u);
  EXPECT_EQ(caches_of(chosen).size(), 4u);
  EXPECT_TRUE(std::is_sorted(
      chosen.begin(), chosen.end(),
      [](const core::Pu& a, const core::Pu& b) { return a.logical_index < b.logical_index; }));
}

TEST(SamplePus, TakesAsManyGroupsAsFitWhenThereAreMore) {
  for (const std::size_t most : {2u, 3u}) {
    const auto chosen = sample_pus(example().pus(), most);
    EXPECT_EQ(chosen.size(), most);
    EXPECT_EQ(caches_of(chosen).size(), most);
  }
}

TEST(SamplePus, KeepsTwoPusOfASingleCore) {
  const auto topology = core::Topology::synthetic("pack:1 core:1 pu:4");
  EXPECT_EQ(sample_pus(topology.pus(), 2).size(), 2u);
}

TEST(PlanCoreToCore, MeasuresSmallMachinesWholeAndOneByOne) {
  const CoreToCorePlan plan = plan_core_to_core(example().pus(), false, 10);
  EXPECT_EQ(plan.pus.size(), 32u);
  EXPECT_FALSE(plan.parallel);
  EXPECT_TRUE(plan.subset.empty());
}

TEST(PlanCoreToCore, MeasuresLargeMachinesWholeInRounds) {
  const auto topology = core::Topology::synthetic("pack:2 l3:8 core:8 pu:2");
  const CoreToCorePlan plan = plan_core_to_core(topology.pus(), false, 10);
  EXPECT_EQ(plan.pus.size(), 256u);
  EXPECT_TRUE(plan.parallel);
}

TEST(PlanCoreToCore, SamplesWhenQuickOrShortOfTimeAndSaysSo) {
  const CoreToCorePlan quick = plan_core_to_core(example().pus(), true, 10);
  EXPECT_EQ(quick.pus.size(), 16u);
  EXPECT_FALSE(quick.subset.empty());
  const CoreToCorePlan hurried = plan_core_to_core(example().pus(), false, 0.001);
  EXPECT_EQ(hurried.pus.size(), 2u);
  EXPECT_FALSE(hurried.subset.empty());
}

void expect_symmetric_and_positive(const ProbeRun& run) {
  const auto& middle = std::get<Matrix>(run.table("core_to_core.latency").content);
  ASSERT_EQ(middle.rows, middle.columns);
  ASSERT_GE(middle.rows.size(), 2u);
  for (std::size_t a = 0; a < middle.rows.size(); ++a) {
    EXPECT_FALSE(middle.values[a][a]);
    for (std::size_t b = 0; b < middle.rows.size(); ++b) {
      if (a == b || !middle.values[a][b]) continue;
      EXPECT_GT(*middle.values[a][b], 0);
      EXPECT_EQ(middle.values[a][b], middle.values[b][a]);
    }
  }
}

TEST(CoreToCoreLatency, HasNoZeroCellAndTheMedianOfItsPairs) {
  if (this_machine().pus().size() < 2) {
    EXPECT_THROW(run_probe(core_to_core_probes, "core_to_core.latency", true, 0.05), NotHere);
    return;
  }
  const ProbeRun run = run_probe(core_to_core_probes, "core_to_core.latency", true, 0.05);
  expect_symmetric_and_positive(run);
  const Result& result = run.result("core_to_core.latency");
  EXPECT_GE(*result.value, result.details.at("min_ns").get<double>());
  EXPECT_LE(*result.value, result.details.at("max_ns").get<double>());
  EXPECT_EQ(result.details.at("best_pair").size(), 2u);
  EXPECT_TRUE(is_steady_progress(run.fractions));
}

TEST(CoreToCoreLatency, MeasuresTheSameMatrixInRounds) {
  if (this_machine().pus().size() < 2) GTEST_SKIP() << "one usable PU";
  ProbeRun run;
  ProbeMemory memory;
  ProbeContext context(this_machine(), false, 0.05, {}, memory, run.record, {});
  CoreToCorePlan plan = plan_core_to_core(this_machine().pus(), false, 0.05);
  plan.parallel = true;
  run_core_to_core(core_to_core_probes(this_machine()).front(), context, plan);
  expect_symmetric_and_positive(run);
  // Whether rounds disturb each other depends on the machine; what was found is told either way.
  EXPECT_TRUE(run.result("core_to_core.latency").details.contains("interference"));
}

}  // namespace

}  // namespace tabane::lab
