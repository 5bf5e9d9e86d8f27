#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

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
  const auto all = static_cast<double>(this_machine().core_count());
  // Points that others have disturbed are left out: each end may be of another run.
  std::map<std::string, std::set<double>> seen;
  bool complete = false;
  for (int i = 0; i < 6 && !complete; ++i) {
    const ProbeRun run = run_probe(bandwidth_probes, "memory.bandwidth.cores", true, 0.05);
    for (const Curve& curve :
         std::get<Curves>(run.table("memory.bandwidth.cores").content).series) {
      EXPECT_TRUE(std::ranges::is_sorted(curve.x)) << curve.name;
      for (const double x : curve.x) EXPECT_TRUE(x >= 1 && x <= all) << curve.name << ": " << x;
      seen[curve.name].insert(curve.x.begin(), curve.x.end());
    }
    complete = !seen.empty() && std::ranges::all_of(seen, [&](const auto& curve) {
      return curve.second.contains(1) && curve.second.contains(all);
    });
  }
  if (!complete) GTEST_SKIP() << "other programs kept a CPU all the time";
}

}  // namespace
}  // namespace tabane::lab
