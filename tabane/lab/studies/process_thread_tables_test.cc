// Tables, record and figures of the study process-thread from samples that are known.
#include <gtest/gtest.h>

#include "tabane/lab/figures/process_thread.h"
#include "tabane/lab/studies/process_thread_data.h"

namespace tabane::lab::process_thread {
namespace {

Series series(Shape shape, std::vector<double> seconds) {
  Series all{shape, {}};
  for (double s : seconds) all.runs.push_back({.seconds = s});
  return all;
}

// Threads give 1.25 with two workers, processes 2; chosen is what is second best.
Findings known() {
  Cell cell{.workload = &find_workload("malloc-large"), .allocator = "glibc", .requests = 1000};
  cell.series = {series({1, 1}, {2, 2, 2}), series({1, 2}, {1.6, 1.6, 1.6}),
                 series({2, 1}, {1, 1, 1}), series({2, 2}, {1.05, 1.05, 1.05})};
  cell.chosen = Chosen{.predicted = {.shape = {2, 2}, .seconds = 1, .low = 0.9, .high = 1.1},
                       .reason = "because"};
  Findings findings;
  findings.pus = 2;
  findings.cells = {cell};
  for (std::uint64_t bytes : {std::uint64_t{1} << 26, std::uint64_t{1} << 28}) {
    const double t = static_cast<double>(bytes) * 1e-10;
    findings.forks.push_back({.bytes = bytes,
                              .piece_bytes = 4096,
                              .one = {t},
                              .serial = {8 * t},
                              .tree = {4 * t},
                              .threads = {8 * t}});
  }
  findings.forks.push_back({.bytes = std::uint64_t{1} << 28,
                            .piece_bytes = 4096,
                            .prepared = true,
                            .one = {0.001},
                            .serial = {0.01},
                            .tree = {0.01},
                            .threads = {0.01}});
  return findings;
}

Study shown(const Findings& findings) {
  Study study;
  add_record(study.record, findings);
  add_tables(study, findings);
  return study;
}

const StudyTable* find(const Study& study, const std::string& part) {
  for (const StudyTable& table : study.tables) {
    if (table.title.find(part) != std::string::npos) return &table;
  }
  return nullptr;
}

TEST(ProcessThreadTables, SpeedupIsOverOneWorker) {
  const Findings findings = known();
  EXPECT_DOUBLE_EQ(*findings.cells[0].speedup({2, 1}), 2);
  EXPECT_DOUBLE_EQ(*findings.cells[0].speedup({1, 2}), 1.25);
  EXPECT_FALSE(findings.cells[0].speedup({4, 1}));
  EXPECT_EQ(findings.cells[0].best()->shape, (Shape{2, 1}));
  EXPECT_EQ(findings.cells[0].best_team(4)->shape, (Shape{2, 2}));
  EXPECT_EQ(findings.cells[0].best_team(3), nullptr);
}

TEST(ProcessThreadTables, ComparisonStandsBesideTheReport) {
  const Study study = shown(known());
  const StudyTable* table = find(study, "Threads only against");
  ASSERT_NE(table, nullptr);
  ASSERT_EQ(table->rows.size(), 2u);
  EXPECT_EQ(table->rows[1], (std::vector<std::string>{"malloc, from 256 KiB", "glibc", "2.00 ms",
                                                      "1.60 ms", "1.00 ms", "2 x 1",
                                                      "1.60 [1.60, 1.60]", "9.3 (10.6 / 1.14)"}));
}

TEST(ProcessThreadTables, ChoiceIsHeldAgainstTheBest) {
  const Study study = shown(known());
  const StudyTable* table = find(study, "chosen");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->rows[1][2], "2 x 2");
  EXPECT_EQ(table->rows[1][5], "2 x 1");
  EXPECT_EQ(table->rows[1][7], "1.05");
  EXPECT_NE(table->remark.find("1 of 1"), std::string::npos) << table->remark;
}

TEST(ProcessThreadTables, ForksAreExtrapolatedFromTheirLine) {
  const Study study = shown(known());
  const StudyTable* table = find(study, "One fork");
  ASSERT_NE(table, nullptr);
  // 1e-10 s a byte: 107 ms a GiB.
  EXPECT_NE(table->remark.find("107 ms"), std::string::npos) << table->remark;
  EXPECT_NE(table->remark.find("10.7 s"), std::string::npos) << table->remark;
  EXPECT_EQ(table->rows.back().back(), "26.8 x");
  EXPECT_EQ(table->rows[1].back(), "–");  // never 0 for what was not measured
}

TEST(ProcessThreadTables, NothingMeasuredShowsNothing) {
  const Study study = shown({});
  EXPECT_TRUE(study.tables.empty());
  EXPECT_TRUE(study.record.results.empty());
  EXPECT_TRUE(make_process_thread_figures(study.record).empty());
}

TEST(ProcessThreadRecord, HasEverySample) {
  const Study study = shown(known());
  const Result* result = study.record.find("process_thread.malloc-large.glibc.p1t2");
  ASSERT_NE(result, nullptr);
  EXPECT_EQ(result->samples, (std::vector<double>{1.6, 1.6, 1.6}));
  EXPECT_EQ(result->parameters["fork_s"].size(), 3u);
  EXPECT_EQ(study.record.find("process_thread.choice.malloc-large.glibc")->value, 1);
}

TEST(ProcessThreadFigures, ChosenShapeIsFramed) {
  const Study study = shown(known());
  const auto figures = make_process_thread_figures(study.record);
  ASSERT_EQ(figures.size(), 4u);
  EXPECT_EQ(figures[0].id, "process_thread_forks");
  EXPECT_EQ(figures[1].id, "process_thread_scaling_malloc_large");
  EXPECT_EQ(figures[2].id, "process_thread_efficiency_malloc_large");
  EXPECT_EQ(figures[3].id, "process_thread_shapes_malloc_large");
  EXPECT_NE(figures[3].script.find("rectangle from 0.53,0.53 to 1.47,1.47"), std::string::npos)
      << figures[3].script;
  EXPECT_NE(figures[3].caption.find("2 x 2"), std::string::npos);
}

TEST(ProcessThreadFigures, LawIsDrawnInTheColourOfItsPoints) {
  const auto figures = make_process_thread_figures(shown(known()).record);
  const std::string& script = figures[1].script;
  const auto colour = [&](const std::string& title) {
    const std::size_t at = script.find("title '" + title + "'");
    return at == std::string::npos ? title : script.substr(script.rfind("rgb '", at), 13);
  };
  EXPECT_EQ(colour("threads"), colour("threads, law"));
  EXPECT_NE(colour("threads"), colour("processes"));
}

}  // namespace
}  // namespace tabane::lab::process_thread
