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
  const bool several = core::Topology::detect().numa_nodes().size() > 1;
  EXPECT_EQ(missing_views("ha8000", record, {{"more than one NUMA node", several}}), Names());
  // Clocks: through memory is slower than in registers, on every processor.
  const auto* clocks = find_content<Rows>(record, "ha8000.clocks.table");
  ASSERT_NE(clocks, nullptr);
  EXPECT_GT(value_of(record, "ha8000.chain.add.O0"), value_of(record, "ha8000.chain.add.O2"));
  ASSERT_EQ(clocks->rows.size(), 3u);
  EXPECT_EQ(clocks->rows[0][1].value, value_of(record, "ha8000.chain.add.O0"));
  EXPECT_EQ(clocks->rows[0][4].value, 130);  // gcc -O0, a * a
  EXPECT_EQ(clocks->rows[1][6].value, 129);  // icc -O1, a * a
  EXPECT_EQ(clocks->rows[2][3].value, 40);
  // Every CPU has a tick rate; every one but the first a difference to the first's counter.
  const auto& cpus = table(record, "2. Running");
  for (const auto& row : cpus.rows) {
    EXPECT_GT(row[6].value.value_or(0), 1e6);
    EXPECT_EQ(row[7].none(), &row == &cpus.rows.front());
  }
  // Memory: as the guide prints it, and in bytes. Only there are two nodes.
  const auto& places = table(record, "HA8000 (Opteron 8356)");
  EXPECT_EQ(places.rows[5][2].text, "3258 MiB/s");
  EXPECT_NEAR(*places.rows[5][1].value, 3.416e9, 1e6);
  // SIMD: each kernel has a row here and one of the guide, each with shares of its own peak.
  const auto& simd = table(record, "4. SIMD");
  ASSERT_EQ(simd.rows.size(), 8u);
  EXPECT_EQ(simd.rows[1][0].text, "sum");
  EXPECT_NEAR(simd.rows[1][7].value.value_or(0), 0.88, 0.005);
  EXPECT_TRUE(simd.rows[1][8].none());  // the guide has no roofline
  EXPECT_EQ(simd.rows[0][6].value, value_of(record, "ha8000.peak.add"));
  const auto* clock_bars = find_content<Bars>(record, "ha8000.clocks");
  ASSERT_NE(clock_bars, nullptr);
  EXPECT_EQ(clock_bars->bars.size(), 18u);
  const auto* bars = find_content<Bars>(record, "ha8000.simd");
  ASSERT_NE(bars, nullptr);
  ASSERT_EQ(bars->bars.size(), 8u);
  EXPECT_EQ(bars->bars[0].value, simd.rows[0][7].value);
  EXPECT_EQ(bars->bars[1].value, simd.rows[1][7].value);  // of a limit of the same kind
  const auto* sweep = find_content<Curves>(record, "ha8000.accumulators");
  ASSERT_NE(sweep, nullptr);
  EXPECT_EQ(sweep->series.at(0).y.size(), 16u);
  EXPECT_GE(value_of(record, "ha8000.accumulators"), 1);
  EXPECT_EQ(table(record, "How many accumulators").rows.at(1).at(3).value, 4);
  EXPECT_EQ(to_json(record_from_json(to_json(record))), to_json(record));
}

TEST(Ha8000, KeepsWhatItHasWhenStopped) {
  Hooks hooks;
  hooks.stop_requested = [] { return true; };
  const Record record = run_ha8000(core::Topology::detect(), true, hooks);
  EXPECT_FALSE(record.complete);
  EXPECT_EQ(record.name, "ha8000");
  EXPECT_EQ(record.find_view("ha8000.clocks.table"), nullptr);
}

}  // namespace
}  // namespace tabane::lab
