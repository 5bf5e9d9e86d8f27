#include <gtest/gtest.h>

#include "tabane/lab/probes/run_probe.h"

namespace tabane::lab {
namespace {

// No core finishes a dependent addition in less than a cycle or takes thirty for it; a chain that
// the compiler had worked out beforehand would be far below one.
TEST(LatencyProbes, AreWholeCyclesOfADependentOperation) {
  for (const char* name : {"latency.add", "latency.mul"}) {
    const ProbeRun run = run_probe(compute_probes, name, true, 0.1);
    const Result& result = run.result(name);
    EXPECT_EQ(result.unit, "cycles");
    EXPECT_GT(*result.value, 0.8) << name;
    EXPECT_LT(*result.value, 30) << name;
    EXPECT_GE(result.samples.size(), 11u);
  }
}

TEST(PeakFmaMachine, IsHeldAgainstCoresTimesOneCore) {
  const core::Topology& topology = this_machine();
  Record record;
  ProbeContext context(topology, true, 0.1, record, {});
  for (const Probe& probe : compute_probes(topology)) {
    if (probe.name.starts_with("peak.")) probe.run(probe, context);
  }
  const Result* core_result = record.find("peak.fma.core");
  const Result* machine = record.find("peak.fma.machine");
  ASSERT_NE(core_result, nullptr);
  ASSERT_NE(machine, nullptr);
  EXPECT_GT(*core_result->value, 1e8);
  ASSERT_TRUE(machine->limit);
  // One core alone, a moment later, times the cores; a shared core may be slowed in one of the two.
  const double again = machine->limit->value / (*core_result->value * topology.core_count());
  EXPECT_GT(again, 0.25);
  EXPECT_LT(again, 4);
}

}  // namespace
}  // namespace tabane::lab
