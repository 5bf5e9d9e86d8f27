#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/lab/probes/run_probe_test.h"

namespace tabane::lab {
namespace {

TEST(MemcpyProbe, GivesACurveAndItsBestPoint) {
  const ProbeRun run = run_probe(bandwidth_probes, "memcpy", true, 0.05);
  const auto& curve = std::get<Curves>(run.table("memcpy").content).series.front();
  ASSERT_GT(curve.x.size(), 5u);
  EXPECT_EQ(curve.x.size(), curve.y.size());
  EXPECT_DOUBLE_EQ(*run.result("memcpy").value, *std::max_element(curve.y.begin(), curve.y.end()));
}

TEST(Zeros, AreWrittenBesideOtherNumbers) {
  const ProbeRun run = run_probe(bandwidth_probes, "memory.zeros", true, 0.05);
  const Result& result = run.result("memory.zeros");
  EXPECT_GT(*result.value, 1e8);
  EXPECT_GT(result.number_detail("of_other_numbers").value(), 1e8);
}

TEST(BandwidthOverCores, EndsWithAllCores) {
  const auto curves = [] {
    const ProbeRun run = run_probe(bandwidth_probes, "memory.bandwidth.cores", true, 0.05);
    return std::get<Curves>(run.table("memory.bandwidth.cores").content).series;
  };
  const auto end_with_all = [](const std::vector<Curve>& series) {
    return std::all_of(series.begin(), series.end(), [](const Curve& curve) {
      return !curve.x.empty() && curve.x.front() == 1 &&
             curve.x.back() == this_machine().core_count();
    });
  };
  // On a busy machine, points that others have disturbed are left out.
  bool complete = false;
  for (int i = 0; i < 6 && !complete; ++i) complete = end_with_all(curves());
  EXPECT_TRUE(complete);
}

}  // namespace
}  // namespace tabane::lab
