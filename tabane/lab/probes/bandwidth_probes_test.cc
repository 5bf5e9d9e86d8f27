#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/lab/probes/run_probe.h"

namespace tabane::lab {
namespace {

TEST(BandwidthProbes, CoverEveryLevelKernelAndScope) {
  const auto probes =
      bandwidth_probes(core::Topology::synthetic("pack:1 l3:1 l2:2 l1d:1 core:1 pu:1"));
  int found = 0;
  for (const char* kernel : {"read", "set", "copy", "triad"}) {
    for (const char* level : {"l1", "l2", "l3", "dram"}) {
      for (const char* scope : {"core", "machine"}) {
        const std::string name =
            std::string("memory.bandwidth.") + kernel + "." + level + "." + scope;
        found += std::any_of(probes.begin(), probes.end(),
                             [&](const Probe& probe) { return probe.name == name; });
      }
    }
  }
  EXPECT_EQ(found, 32);
}

TEST(BandwidthProbes, HoldTheMachineAgainstItsCoresInCachesOfTheirOwn) {
  Record record;
  ProbeContext context(this_machine(), true, 0.1, record, {});
  for (const Probe& probe : bandwidth_probes(this_machine())) {
    if (probe.name.starts_with("memory.bandwidth.read.l1.")) probe.run(probe, context);
  }
  ASSERT_EQ(record.results.size(), 2u);
  EXPECT_GT(*record.results[0].value, 1e8);
  EXPECT_EQ(record.results[1].limit.has_value(), this_machine().core_count() > 1);
}

TEST(MemcpyProbe, GivesACurveAndItsBestPoint) {
  const ProbeRun run = run_probe(bandwidth_probes, "memcpy", true, 0.05);
  const auto& curve = std::get<Curves>(run.table("memcpy").content).series.front();
  ASSERT_GT(curve.x.size(), 5u);
  EXPECT_EQ(curve.x.size(), curve.y.size());
  EXPECT_DOUBLE_EQ(*run.result("memcpy").value, *std::max_element(curve.y.begin(), curve.y.end()));
}

TEST(BandwidthOverCores, EndsWithAllCores) {
  const ProbeRun run = run_probe(bandwidth_probes, "memory.bandwidth.cores", true, 0.05);
  for (const Curve& curve : std::get<Curves>(run.table("memory.bandwidth.cores").content).series) {
    EXPECT_DOUBLE_EQ(curve.x.front(), 1);
    EXPECT_DOUBLE_EQ(curve.x.back(), this_machine().core_count());
  }
}

}  // namespace
}  // namespace tabane::lab
