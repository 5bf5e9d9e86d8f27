#include <gtest/gtest.h>

#include "tabane/lab/probes/run_probe.h"

namespace tabane::lab {
namespace {

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
