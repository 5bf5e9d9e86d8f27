#include <gtest/gtest.h>

#include "tabane/lab/probes/run_probe_test.h"

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
  }
}

TEST(PeakFmaMachine, IsHeldAgainstCoresTimesOneCore) {
  const core::Topology& topology = this_machine();
  const Record one = run_probe(compute_probes, "peak.fma.core", true, 0.1).record;
  const Record record = run_probe(compute_probes, "peak.fma.machine", true, 0.1, topology,
                                  static_cast<std::size_t>(-1), 1, one)
                            .record;
  const Result* core_result = record.find("peak.fma.core");
  const Result* machine = record.find("peak.fma.machine");
  ASSERT_NE(core_result, nullptr);
  ASSERT_NE(machine, nullptr);
  EXPECT_GT(*core_result->value, 1e8);
  if (topology.core_count() < 2) return;
  if (!machine->value) GTEST_SKIP() << machine->reason;
  ASSERT_TRUE(machine->limit);
  EXPECT_EQ(machine->limit->samples.size(), machine->samples.size());
  // One core alone, a moment later, times the cores; a shared core may be slowed in one of the two.
  const double again = machine->limit->value / (*core_result->value * topology.core_count());
  EXPECT_GT(again, 0.25);
  EXPECT_LT(again, 4);
}

TEST(LadderProbe, HasARowForEachKernelOfTheReport) {
  const ProbeRun run = run_probe(ladder_probes, "ladder", true, 0.1);
  const auto& rows = std::get<Rows>(run.table("ladder").content);
  EXPECT_EQ(rows.rows.size(), 4u);
  for (const auto& row : rows.rows) {
    EXPECT_EQ(row.size(), rows.columns.size());
    for (std::size_t i = 1; i < row.size(); ++i) {
      ASSERT_TRUE(row[i].value) << i;
      EXPECT_GT(*row[i].value, 1e6) << i;
    }
  }
}

}  // namespace

}  // namespace tabane::lab
