#include "tabane/lab/figures/figures.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/lab/report_test_record.h"

namespace tabane::lab {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::vector<std::string> ids(const SurveyRecord& record) {
  std::vector<std::string> out;
  for (const auto& figure : make_figures(record)) out.push_back(figure.id);
  return out;
}

TEST(MakeFigures, GivesAllFiguresInTheOrderOfThePage) {
  EXPECT_EQ(ids(testing::full_record()),
            std::vector<std::string>(kFigureIds.begin(), kFigureIds.end()));
}

TEST(MakeFigures, LeavesOutWhatTheRecordDoesNotHave) {
  EXPECT_TRUE(ids(SurveyRecord()).empty());
  EXPECT_TRUE(ids(testing::record_without_tables()).empty());
  for (const auto& id : ids(testing::one_cpu_record())) {
    EXPECT_NE(id, "core_to_core");
    EXPECT_NE(id, "numa_latency");
    EXPECT_NE(id, "bandwidth_cores");
  }
}

TEST(MakeFigures, GivesEachACaptionWithNumbersAndATable) {
  for (const auto& figure : make_figures(testing::full_record())) {
    EXPECT_TRUE(std::any_of(figure.caption.begin(), figure.caption.end(), [](char c) {
      return c >= '0' && c <= '9';
    })) << figure.id;
    EXPECT_TRUE(has(figure.data_table_html, "<table>")) << figure.id;
    EXPECT_FALSE(figure.data.empty());
    EXPECT_TRUE(has(figure.script, figure.id + ".svg"));
    EXPECT_TRUE(has(figure.script, figure.id + ".dat"));
  }
}

TEST(MakeFigures, LetsNoNameBecomeACommand) {
  for (const auto& figure : make_figures(testing::hostile_record())) {
    for (const char* evil : {"system(\"", "`", "'owned'"}) {
      EXPECT_FALSE(has(figure.script, evil)) << figure.id;
      EXPECT_FALSE(has(figure.data, evil)) << figure.id;
    }
    EXPECT_FALSE(has(figure.data_table_html, "<script>")) << figure.id;
  }
}

TEST(Roofline, PutsTheRidgeWhereTheRoofsMeet) {
  SurveyRecord record;
  for (const auto& [name, unit, value] : {std::tuple{"peak.fma.core", "FLOP/s", 40e9},
                                          {"memory.bandwidth.read.dram.core", "B/s", 20e9}}) {
    Result r;
    r.name = name;
    r.unit = unit;
    r.value = value;
    record.results.push_back(r);
  }
  const auto figure = roofline_figure(record);
  ASSERT_TRUE(figure);
  EXPECT_TRUE(has(figure->caption, "below 2 FLOP per byte")) << figure->caption;
  record.results.pop_back();
  EXPECT_FALSE(roofline_figure(record));
}

TEST(ShareOfLimit, NamesTheBestAndTheWorst) {
  SurveyRecord record;
  for (const auto& [name, value] : {std::pair{"a.x", 90.0}, {"b.y", 25.0}}) {
    Result r;
    r.name = name;
    r.unit = "B/s";
    r.better = Better::higher;
    r.value = value;
    r.limit = Limit{100, ""};
    record.results.push_back(r);
  }
  const auto figure = share_of_limit_figure(record);
  ASSERT_TRUE(figure);
  EXPECT_TRUE(has(figure->caption, "a.x comes closest with 90 %")) << figure->caption;
  EXPECT_TRUE(has(figure->caption, "b.y is farthest with 25 %"));
}

TEST(BandwidthCores, TellsWhereTheBusIsFull) {
  SurveyRecord record;
  CurvesTable table{{"cores", "", false}, {"bandwidth", "B/s", false}, {}};
  table.series.push_back({"read", {1, 2, 3, 4}, {10e9, 19.5e9, 20e9, 20e9}, {}, {}});
  record.tables.push_back({"memory.bandwidth.cores", "", 1, Json::object(), table});
  EXPECT_TRUE(has(bandwidth_cores_figure(record)->caption, "with 2 cores (19.5 GB/s)"));
}

TEST(CoreToCore, LeavesTheDiagonalEmptyAndFindsTheFarthestPair) {
  SurveyRecord record;
  record.tables.push_back(
      {"core_to_core.latency", "", 1, Json::object(),
       MatrixTable{
           "ns", Better::lower, {"0", "4"}, {"0", "4"}, {{7.0, 30.0}, {32.0, std::nullopt}}}});
  const auto figure = core_to_core_figure(record);
  ASSERT_TRUE(figure);
  EXPECT_EQ(figure->data, "NaN 30\n32 NaN\n");
  EXPECT_TRUE(has(figure->caption, "31.0 ns")) << figure->caption;
}

TEST(CoreToCore, StaysSmallOnManyPus) {
  const auto figure = core_to_core_figure(testing::full_record(512));
  ASSERT_TRUE(figure);
  EXPECT_EQ(std::count(figure->data.begin(), figure->data.end(), '\n'), 128);
  EXPECT_TRUE(has(figure->caption, "4 × 4 pairs"));
  EXPECT_LT(figure->data_table_html.size(), 100'000u);
}

TEST(Numa, GivesTheRatioToTheLocalNode) {
  const auto figures = numa_figures(testing::full_record());
  ASSERT_EQ(figures.size(), 3u);
  EXPECT_TRUE(has(figures[0].data, "\"148 (1.54)\"")) << figures[0].data;
  EXPECT_TRUE(has(figures[2].data, "\"41.0 (0.55)\"")) << figures[2].data;
}

TEST(Ladder, ShowsSharesOnlyIfEveryKernelHasALimit) {
  auto record = testing::full_record();
  EXPECT_TRUE(has(ladder_figure(record)->script, "share of the limit"));
  for (auto& table : record.tables)
    if (auto* rows = std::get_if<RowsTable>(&table.content)) rows->rows[0][5] = std::monostate();
  EXPECT_TRUE(has(ladder_figure(record)->script, "GFLOP/s"));
}

TEST(ByteTicks, ArePowersOfTwoAndFew) {
  EXPECT_TRUE(has(byte_ticks(1024, 4096), "'1 KiB' 1024, '2 KiB' 2048, '4 KiB' 4096"));
  const std::string many = byte_ticks(1, 1e12);
  EXPECT_LE(std::count(many.begin(), many.end(), ','), 9);
}

}  // namespace
}  // namespace tabane::lab
