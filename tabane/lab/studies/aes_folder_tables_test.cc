#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/lab/studies/aes_folder.h"

namespace tabane::lab::aes_folder {
namespace {

Series series(Implementation implementation, unsigned threads, std::vector<double> seconds,
              std::uint64_t first_order = 0) {
  Series out{implementation, threads, {}};
  for (double t : seconds) {
    Run run;
    run.seconds = t;
    run.order = first_order;
    first_order += 10;
    out.runs.push_back(run);
  }
  return out;
}

// 100 files of 1 MiB on 2 PUs: copying takes 1 s, the report's program 3 s, tabane 2 s and 1.5 s.
Cell plain_cell() {
  Cell cell;
  cell.files = 100;
  cell.bytes = 1024 * 1024;
  cell.series = {
      series(Implementation::report_static, 1, {5, 5, 5, 5, 5, 5, 5, 5}, 0),
      series(Implementation::report_static, 2, {3, 3, 3, 3, 3, 3, 3, 3}, 1),
      series(Implementation::report_dynamic, 2, {3, 3, 3, 3, 3, 3, 3, 3}, 2),
      series(Implementation::tabane_cbc, 2, {2, 2, 2, 2, 2, 2, 2, 2}, 3),
      series(Implementation::tabane_cbc, kAutomatic, {2, 2, 2, 2, 2, 2, 2, 2}, 4),
      series(Implementation::tabane_gcm, kAutomatic, {1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5}, 5),
      series(Implementation::copy, 2, {1, 1, 1, 1, 1, 1, 1, 1}, 6)};
  return cell;
}

// The cell below the head in the column of that title, first row.
std::string at(const StudyTable& table, const std::string& column, std::size_t row = 1) {
  const auto& head = table.rows.at(0);
  const auto found = std::find(head.begin(), head.end(), column);
  if (found == head.end() || row >= table.rows.size()) return "absent";
  return table.rows[row].at(static_cast<std::size_t>(found - head.begin()));
}

TEST(BestThreads, AreThoseWithTheLeastMeanAndNeverTheAutomaticOnes) {
  const Cell cell = plain_cell();
  EXPECT_EQ(best(cell, Implementation::report_static)->threads, 2u);
  EXPECT_EQ(best(cell, Implementation::tabane_cbc)->threads, 2u);
  EXPECT_EQ(best(cell, Implementation::tabane_gcm), nullptr);
}

TEST(BestThreadsTable, PutsTheReportsFiguresBeside) {
  const StudyTable table = best_threads_table({plain_cell()}, 100);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(at(table, "OpenMP static"), "2, 3.00 s");
  EXPECT_EQ(at(table, "tabane GCM"), "–");
  EXPECT_EQ(at(table, "report: Xeon"), "20, 173.3 ms");
  EXPECT_EQ(at(table, "report: Xeon Phi"), "100, 686.7 ms");
}

TEST(BestThreadsTable, HasOnlyTheNumberOfFilesAskedFor) {
  EXPECT_EQ(best_threads_table({plain_cell()}, 10).rows.size(), 1u);
}

TEST(BestThreadsTable, LeavesOutTheReportWhereItHasNoFigure) {
  Cell cell = plain_cell();
  cell.bytes = 12345;
  EXPECT_EQ(at(best_threads_table({cell}, 100), "report: Xeon"), "–");
}

TEST(LimitTable, GivesSharesOfCopyingAndTheRatioWithItsInterval) {
  const StudyTable table = limit_table({plain_cell()}, 2);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(at(table, "OpenMP static"), "33 %");
  EXPECT_EQ(at(table, "tabane CBC"), "50 %");
  EXPECT_EQ(at(table, "static / GCM"), "2.00 [2.00, 2.00]");
}

TEST(LimitTable, LeavesOutACellThatWasNotMeasured) {
  Cell cell = plain_cell();
  for (Series& one : cell.series) one.runs.clear();
  EXPECT_EQ(limit_table({cell}, 2).rows.size(), 1u);
}

TEST(SlowOutliers, AreBeyondTheFarFenceOnTheSlowSideOnly) {
  // Quartiles 10 and 12: fences at 4 and 18.
  const std::vector<double> seconds = {10, 10, 10, 11, 11, 12, 12, 12, 19, 1, 17};
  EXPECT_EQ(slow_outliers(seconds), std::vector<std::size_t>{8});
}

TEST(NormalMean, LeavesOutSlowOutliersAlone) {
  EXPECT_DOUBLE_EQ(normal_mean(std::vector<double>{2, 2, 2, 2, 2, 2, 2, 50}), 2);
  EXPECT_DOUBLE_EQ(normal_mean(std::vector<double>{2, 4}), 3);
}

// One run of 20 takes 22 s instead of 2 s: the mean is 3 s, so it counts by both rules; 2.5 s
// counts by the far fence alone.
Cell cell_with_outliers() {
  Cell cell = plain_cell();
  for (Series& one : cell.series)
    one = series(one.implementation, one.threads, std::vector<double>(20, one.runs[0].seconds),
                 one.runs[0].order);
  std::vector<double> seconds(20, 2.0);
  seconds[4] = 22;
  seconds[7] = 2.5;
  cell.series[1] = series(Implementation::report_static, 2, seconds, 1);
  return cell;
}

TEST(OutlierTable, CountsByTheReportsRuleAndByTheFarFence) {
  const StudyTable table = outlier_table({cell_with_outliers()});
  EXPECT_EQ(at(table, "runs"), "40");
  EXPECT_EQ(at(table, "mean + 1 s"), "1");
  EXPECT_EQ(at(table, "far fence"), "2");
  EXPECT_EQ(at(table, "longest / median"), "11.00");
  EXPECT_EQ(at(table, "mean"), "3.02 s");
  EXPECT_EQ(at(table, "normal runs"), "2.00 s");
  EXPECT_EQ(at(table, "report, of 100 each"), "23, 25");
}

TEST(ImplementationsTable, AddsUpAllCells) {
  const StudyTable table = implementations_table({cell_with_outliers(), plain_cell()});
  EXPECT_EQ(at(table, "implementation"), "OpenMP static");
  EXPECT_EQ(at(table, "runs"), "56");
  EXPECT_EQ(at(table, "far fence"), "2");
  EXPECT_EQ(at(table, "far fence", 2), "0");
}

TEST(CoincidenceTable, ComparesOutliersWithNormalRuns) {
  Cell cell = cell_with_outliers();
  Series& report = cell.series[1];
  for (auto& run : report.runs) run.usage.steal_seconds = 0;
  report.runs[4].usage.steal_seconds = 0.02;
  report.runs[4].usage.involuntary_switches = 900;
  report.runs[12].usage.page_faults = 70;
  const StudyTable table = coincidence_table({cell});
  const auto row = [&](const std::string& what) {
    for (const auto& cells : table.rows)
      if (cells[0].starts_with(what)) return cells;
    return std::vector<std::string>(5, "absent");
  };
  EXPECT_EQ(row("runs")[1], "2");
  EXPECT_EQ(row("runs")[2], "38");
  EXPECT_EQ(row("more involuntary")[1], "1 (50 %)");
  EXPECT_EQ(row("more page faults")[1], "0 (0 %)");
  EXPECT_EQ(row("more page faults")[2], "1 (3 %)");
  EXPECT_EQ(row("more steal")[1], "1 (50 %)");
  EXPECT_EQ(row("none")[1], "1 (50 %)");
}

TEST(CoincidenceTable, SeesSlowRunsBesideEachOther) {
  Cell cell = cell_with_outliers();
  // Copying right after the slow run of the report's program is slow too.
  cell.series[6] = series(Implementation::copy, 2, std::vector<double>(20, 1.0), 1000);
  cell.series[6].runs[4].seconds = 9;
  cell.series[6].runs[4].order = cell.series[1].runs[4].order + 1;
  cell.series.erase(cell.series.begin() + 2, cell.series.begin() + 6);
  const StudyTable table = coincidence_table({cell});
  ASSERT_EQ(table.rows.at(9).at(0), "another slow run just before or after");
  EXPECT_EQ(table.rows.at(9).at(1), "1 (50 %)");
}

Causes known_causes() {
  Causes causes;
  causes.files = 100;
  causes.bytes = 4 * 1024 * 1024;
  causes.threads = 2;
  causes.names = {"report_static",    "without_fresh_buffers", "without_writing",
                  "without_reading",  "without_chain",         "without_cipher",
                  "schedule_dynamic", "memory_kept",           "copy"};
  causes.removals = 6;
  const double seconds[] = {10, 8, 5, 4, 1, 0.5, 10, 9, 5};
  const double faults[] = {4000, 40, 40, 40, 40, 40, 4000, 100, 30};
  for (std::size_t v = 0; v < causes.names.size(); ++v) {
    std::vector<Run> runs(8);
    for (auto& run : runs) {
      run.seconds = seconds[v];
      run.usage.page_faults = faults[v];
    }
    causes.runs.push_back(runs);
  }
  return causes;
}

TEST(RemovalTable, GivesSharesThatAddUpToTheWhole) {
  const StudyTable table = removal_table({known_causes()});
  EXPECT_EQ(at(table, "time"), "10.0 s");
  EXPECT_EQ(at(table, "fresh buffers"), "20 %");
  EXPECT_EQ(at(table, "writing files"), "30 %");
  EXPECT_EQ(at(table, "reading files"), "10 %");
  EXPECT_EQ(at(table, "waiting in the chain"), "30 %");
  EXPECT_EQ(at(table, "AES"), "5 %");
  EXPECT_EQ(at(table, "threads"), "5 %");
  EXPECT_EQ(at(table, "page faults"), "4000");
}

TEST(RemovalTable, CountsTheWholeCipherWhereChainsCannotBeMixed) {
  Causes causes = known_causes();
  causes.names.erase(causes.names.begin() + 4);
  causes.runs.erase(causes.runs.begin() + 4);
  const StudyTable table = removal_table({causes});
  EXPECT_EQ(at(table, "waiting in the chain"), "not measured");
  EXPECT_EQ(at(table, "AES"), "35 %");
}

TEST(ChangeTable, GivesEachChangeAloneAsARatio) {
  const StudyTable table = change_table({known_causes()});
  EXPECT_EQ(at(table, "dynamic scheduling"), "1.00 [1.00, 1.00]");
  EXPECT_EQ(at(table, "allocator keeps memory"), "0.90 [0.90, 0.90]");
  EXPECT_EQ(at(table, "page faults then"), "100");
  EXPECT_EQ(at(table, "copying alone"), "0.50 [0.50, 0.50]");
}

TEST(RecordCells, KeepsEverySampleWithWhatItBelongsTo) {
  SurveyRecord record;
  record_cells(record, {cell_with_outliers()}, 2);
  const Result* result = record.find("aes_folder.report_static.100x1048576.t2");
  ASSERT_NE(result, nullptr);
  EXPECT_EQ(result->samples.size(), 20u);
  EXPECT_EQ(result->parameters.at("page_faults").size(), 20u);
  EXPECT_TRUE(result->parameters.at("steal_s").at(0).is_null());
  EXPECT_DOUBLE_EQ(result->limit->value, 1);
  const Result* chosen = record.find("aes_folder.tabane_cbc.100x1048576.automatic");
  ASSERT_NE(chosen, nullptr);
  EXPECT_TRUE(chosen->parameters.at("threads").is_null());
  EXPECT_DOUBLE_EQ(*chosen->of_limit(), 0.5);
}

TEST(RecordCells, ShowsTheOrderOfTheRunsThatLostMost) {
  SurveyRecord record;
  record_cells(record, {plain_cell(), cell_with_outliers()}, 2);
  const Table* order = record.find_table("aes_folder.order");
  ASSERT_NE(order, nullptr);
  EXPECT_EQ(order->parameters.at("threads"), 2);
  EXPECT_EQ(std::get<CurvesTable>(order->content).series.at(0).y.size(), 20u);
}

TEST(RecordCells, OfNothingAddsNothing) {
  SurveyRecord record;
  record_cells(record, {}, 2);
  EXPECT_TRUE(record.results.empty());
  EXPECT_TRUE(record.tables.empty());
}

}  // namespace
}  // namespace tabane::lab::aes_folder
