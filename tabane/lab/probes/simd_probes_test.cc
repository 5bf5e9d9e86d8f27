#include <gtest/gtest.h>

#include "tabane/lab/probes/run_probe.h"

namespace tabane::lab {
namespace {

// The limit is measured with the kernel, so whatever the machine does the kernel can hardly pass
// it; a limit in another unit or by another count of elements would be off by a factor of eight or
// more.
TEST(SimdProbes, AreHeldAgainstARooflineOfTheSameRun) {
  for (const char* name : {"simd.dot.l1", "simd.sum.l1", "simd.axpy.l1", "simd.copy.l1"}) {
    const ProbeRun run = run_probe(simd_probes, name, true, 0.1);
    const auto share = run.result(name).of_limit();
    ASSERT_TRUE(share) << name;
    EXPECT_GT(*share, 0.1) << name;
    EXPECT_LT(*share, 4) << name;
  }
}

TEST(SimdProbes, GiveOperationsOrBytesASecond) {
  for (const Probe& probe : simd_probes(this_machine())) {
    const bool moves_only =
        probe.name.starts_with("simd.set") || probe.name.starts_with("simd.copy");
    if (!probe.name.starts_with("simd.")) continue;
    EXPECT_EQ(probe.unit, moves_only ? "B/s" : "FLOP/s");
  }
}

TEST(LadderProbe, HasARowForEachKernelOfTheReport) {
  const ProbeRun run = run_probe(simd_probes, "ladder", true, 0.1);
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
