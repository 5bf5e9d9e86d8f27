#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/lab/probes/run_probe.h"

namespace tabane::lab {
namespace {

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
