#include <gtest/gtest.h>

#include "tabane/lab/probes/run_probe.h"

namespace tabane::lab {
namespace {

// The roofs are set by hand, so the limits can be worked out by hand: read 16e9, set 8e9,
// the others 12e9, peak 10e9.
SurveyRecord with_roofs(const std::string& level) {
  SurveyRecord record;
  for (const auto& [name, value] : {std::pair<std::string, double>{"peak.fma.core", 10e9},
                                    {"memory.bandwidth.read." + level + ".core", 16e9},
                                    {"memory.bandwidth.copy." + level + ".core", 12e9},
                                    {"memory.bandwidth.triad." + level + ".core", 12e9},
                                    {"memory.bandwidth.set." + level + ".core", 8e9}}) {
    Result result;
    result.name = name;
    set_samples(result, {value});
    record.results.push_back(result);
  }
  return record;
}

double limit_of(const std::string& name, const std::string& level) {
  SurveyRecord record = with_roofs(level);
  ProbeContext context(this_machine(), true, 0.01, record, {});
  for (const Probe& probe : simd_probes(this_machine())) {
    if (probe.name == name) probe.run(context);
  }
  return record.results.back().limit.value().value;
}

TEST(SimdProbes, AreLimitedInACacheByTheSlowerOfLoadsAndStores) {
  // dot: two loads an element, 1 ns; 2 operations: 2 GFLOP/s.
  EXPECT_NEAR(limit_of("simd.dot.l1", "l1"), 2e9, 1);
  // axpy: loads 1 ns, store 1 ns, at once.
  EXPECT_NEAR(limit_of("simd.axpy.l1", "l1"), 2e9, 1);
  // copy: load 0.5 ns, store 1 ns; 16 bytes.
  EXPECT_NEAR(limit_of("simd.copy.l1", "l1"), 16e9, 1);
  // sum_of_squares: load 0.5 ns, one FMA of 0.2 ns.
  EXPECT_NEAR(limit_of("simd.sum_of_squares.l1", "l1"), 4e9, 1);
}

TEST(SimdProbes, AreLimitedFartherAwayByTheHighestBandwidthOfTheLevel) {
  // triad: 24 bytes at 16e9 B/s are 1.5 ns; 2 operations.
  EXPECT_NEAR(limit_of("simd.triad.dram", "dram"), 2e9 / 1.5, 1);
}

TEST(ProbeContext, TakesAsARoofWhatWasPossibleNotWhatWasUsual) {
  SurveyRecord record;
  Result result;
  result.name = "rate";
  result.better = Better::higher;
  std::vector<double> samples(99, 1.0);
  samples.insert(samples.end(), 11, 2.0);  // disturbed nine times out of ten
  set_samples(result, samples);
  record.results.push_back(result);
  const ProbeContext context(this_machine(), true, 1, record, {});
  EXPECT_DOUBLE_EQ(context.earlier("rate").value(), 1);
  EXPECT_DOUBLE_EQ(context.roof("rate").value(), 2);
  EXPECT_FALSE(context.roof("other"));
}

TEST(SimdProbes, HaveNoLimitWithoutTheRoofs) {
  const ProbeRun run = run_probe(simd_probes, "simd.sum.l1", true, 0.02);
  EXPECT_FALSE(run.result("simd.sum.l1").limit);
  EXPECT_GT(*run.result("simd.sum.l1").value, 1e7);
}

TEST(LadderProbe, HasARowForEachKernelOfTheReport) {
  const ProbeRun run = run_probe(simd_probes, "ladder", true, 0.1);
  const auto& rows = std::get<RowsTable>(run.table("ladder").content);
  EXPECT_EQ(rows.rows.size(), 4u);
  for (const auto& row : rows.rows) {
    EXPECT_EQ(row.size(), rows.columns.size());
    EXPECT_TRUE(std::holds_alternative<std::monostate>(row.back()));  // no roof was measured
  }
}

}  // namespace
}  // namespace tabane::lab
