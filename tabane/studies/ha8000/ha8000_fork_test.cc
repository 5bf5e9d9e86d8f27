#include "tabane/studies/ha8000/ha8000.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/lab/study/views_test.h"

namespace tabane::lab {
namespace {

double value_of(const Record& record, const char* name) {
  const Result* result = record.find(name);
  return result == nullptr ? 0 : result->value.value_or(0);
}

TEST(Ha8000, ShowsTheFourDemonstrationsBesideTheGuide) {
  const Record record = run_ha8000(core::Topology::detect(), true);
  EXPECT_TRUE(warns(record, "quick"));
  EXPECT_EQ(record.kind, Kind::study);
  const auto tables = std::count_if(record.views.begin(), record.views.end(), [](const View& view) {
    return view.name.starts_with("ha8000.table.");
  });
  EXPECT_EQ(tables, 5);
  // Clocks: through memory is slower than in registers, on every processor.
  const auto* clocks = find_content<Rows>(record, "ha8000.table.1");
  ASSERT_NE(clocks, nullptr);
  EXPECT_GT(value_of(record, "ha8000.chain.add.not_optimised"),
            value_of(record, "ha8000.chain.add.optimised"));
  EXPECT_EQ(clocks->rows.at(2).at(2).value, 40);
  // SIMD: each kernel has a row here and one of the guide, with the guide's share of its peak.
  const auto* simd = find_content<Rows>(record, "ha8000.table.5");
  ASSERT_NE(simd, nullptr);
  ASSERT_EQ(simd->rows.size(), 8u);
  EXPECT_EQ(simd->rows[1][0].text, "sum");
  EXPECT_NEAR(simd->rows[1].back().value.value_or(0), 0.88, 0.005);
  for (const char* chart : {"ha8000.clocks", "ha8000.simd"}) {
    const auto* bars = find_content<Bars>(record, chart);
    ASSERT_NE(bars, nullptr) << chart;
    EXPECT_EQ(bars->bars.size(), 8u);
  }
  EXPECT_EQ(to_json(record_from_json(to_json(record))), to_json(record));
}

TEST(Ha8000, KeepsWhatItHasWhenStopped) {
  Hooks hooks;
  hooks.stop_requested = [] { return true; };
  const Record record = run_ha8000(core::Topology::detect(), true, hooks);
  EXPECT_FALSE(record.complete);
  EXPECT_EQ(record.name, "ha8000");
  EXPECT_EQ(record.find_view("ha8000.table.1"), nullptr);
}

}  // namespace
}  // namespace tabane::lab
