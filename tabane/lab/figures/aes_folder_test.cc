#include "tabane/lab/figures/aes_folder.h"

#include <gtest/gtest.h>

namespace tabane::lab {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

SurveyRecord small_record() {
  SurveyRecord record;
  record.tables.push_back(
      {.name = "aes_folder.threads.report_static.100",
       .parameters = {{"files", 100}, {"implementation", "OpenMP static"}},
       .content = MatrixTable{
           "ratio", Better::lower, {"1", "2"}, {"4 KiB", "1 MiB"}, {{1.5, 8.0}, {1.2, {}}}}});
  CurvesTable limit{{"file size", "B", true}, {"time over copying", "ratio", true}, {}};
  limit.series.push_back({"OpenMP static", {4096, 1048576}, {1.5, 3}, {1.4, 2.9}, {1.6, 3.1}});
  limit.series.push_back({"tabane CBC", {}, {}, {}, {}});
  limit.series.push_back({"tabane GCM", {4096, 1048576}, {1.1, 1.2}, {1, 1.1}, {1.2, 1.3}});
  record.tables.push_back({.name = "aes_folder.limit.100", .content = limit});
  CurvesTable order{{"run", "", false}, {"time", "s", true}, {}};
  order.series.push_back({"copying", {0, 2, 4, 6, 8}, {0.1, 0.1, 0.1, 0.1, 0.9}, {}, {}});
  record.tables.push_back(
      {.name = "aes_folder.order", .what = "all runs of 100 x 1 MiB", .content = order});
  return record;
}

TEST(AesFolderFigures, AreMadeForEachTable) {
  const auto figures = make_aes_folder_figures(small_record());
  ASSERT_EQ(figures.size(), 3u);
  EXPECT_EQ(figures[0].id, "aes_folder_threads_report_static_100");
  EXPECT_EQ(figures[1].id, "aes_folder_limit_100");
  EXPECT_EQ(figures[2].id, "aes_folder_order");
  for (const Figure& figure : figures) {
    EXPECT_TRUE(has(figure.script, figure.id + ".svg"));
    EXPECT_TRUE(has(figure.script, figure.id + ".dat"));
    EXPECT_TRUE(has(figure.data_table_html, "<table>"));
  }
}

TEST(AesFolderFigures, OfAnEmptyRecordAreNone) {
  EXPECT_TRUE(make_aes_folder_figures(SurveyRecord()).empty());
}

TEST(AesFolderFigures, ReadTheHeatMapAloud) {
  const Figure figure = make_aes_folder_figures(small_record())[0];
  EXPECT_TRUE(has(figure.caption,
                  "from 1.20 (threads: 2, files of 4 KiB) to 8 (threads: 1, files "
                  "of 1 MiB)"))
      << figure.caption;
  EXPECT_TRUE(has(figure.data, "1 0 3.0000 \"8.00\""));
  EXPECT_TRUE(has(figure.data, "1 1 NaN \"-\""));
}

TEST(AesFolderFigures, CountBlocksOfDataWithoutTheEmptySeries) {
  const Figure figure = make_aes_folder_figures(small_record())[1];
  EXPECT_TRUE(has(figure.script, "data index 1 using 1:2 "));
  EXPECT_FALSE(has(figure.script, "data index 2"));
}

TEST(AesFolderFigures, MarkOutliersByLargerPoints) {
  const Figure figure = make_aes_folder_figures(small_record())[2];
  EXPECT_TRUE(has(figure.data, "8 900 1\n")) << figure.data;
  EXPECT_TRUE(has(figure.data, "6 100 0.45\n"));
}

TEST(AesFolderFigures, LetNoNameBecomeACommand) {
  SurveyRecord record = small_record();
  for (Table& table : record.tables) {
    table.parameters["implementation"] = "'\nsystem(\"x\")\n'";
    if (auto* curves = std::get_if<CurvesTable>(&table.content))
      curves->series[0].name = "`x`'; system(\"x\")";
  }
  for (const Figure& figure : make_aes_folder_figures(record)) {
    EXPECT_FALSE(has(figure.script, "system(\"")) << figure.id;
    EXPECT_FALSE(has(figure.script, "`"));
  }
}

}  // namespace
}  // namespace tabane::lab
