#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/lab/page/plot.h"
#include "tabane/lab/page/report_record_test.h"
#include "tabane/lab/record/has_test.h"
#include "tabane/lab/survey/survey.h"

namespace tabane::lab {
namespace {

std::vector<std::string> figure_ids(const Record& record) {
  std::vector<std::string> out;
  for (const auto& figure : make_figures(record)) out.push_back(figure.id);
  return out;
}

TEST(Present, GivesAllFiguresInTheOrderOfThePage) {
  EXPECT_EQ(
      figure_ids(testing::full_record()),
      (std::vector<std::string>{"share_of_limit", "roofline", "memory_latency", "memory_bandwidth",
                                "memory_bandwidth_cores", "memcpy", "core_to_core_latency",
                                "numa_latency", "numa_bandwidth_first", "numa_bandwidth_second",
                                "ladder_chart", "clock_core_rate", "fork_cost"}));
}

TEST(Present, LeavesOutWhatTheRecordDoesNotHave) {
  EXPECT_TRUE(figure_ids(Record()).empty());
  EXPECT_TRUE(figure_ids(testing::record_without_tables()).empty());
  for (const auto& id : figure_ids(testing::one_cpu_record())) {
    EXPECT_NE(id, "core_to_core_latency");
    EXPECT_NE(id, "numa_latency");
    EXPECT_NE(id, "memory_bandwidth_cores");
  }
}

TEST(Present, KeepsEveryView) {
  const Record record = testing::full_record();
  for (const char* name : {"clock.skew", "ladder", "memory.latency", "numa.latency"})
    EXPECT_NE(record.find_view(name), nullptr) << name;
  EXPECT_TRUE(record.find_view("clock.skew")->note.empty());
}

TEST(Present, ChangesNothingTheSecondTime) {
  Record record = testing::full_record();
  const Json once = to_json(record);
  present(record);
  EXPECT_EQ(to_json(record), once);
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

TEST(MakeFigures, GivesFilesSafeNamesOfTheirOwn) {
  std::vector<std::string> all = figure_ids(testing::hostile_record());
  for (const std::string& id : all)
    EXPECT_TRUE(std::all_of(id.begin(), id.end(), [](unsigned char c) {
      return std::isalnum(c) || c == '_';
    })) << id;
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

TEST(MakeFigures, CountsOnlySeriesThatHaveData) {
  Record record;
  record.views.push_back({.name = "a",
                          .title = "",
                          .content = Curves{{"x"},
                                            {"y"},
                                            {{.name = "none", .x = {}, .y = {}},
                                             {.name = "one", .x = {1, 2}, .y = {1, 2}}}}});
  record.kind = Kind::study;
  const auto figures = make_figures(record);
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_TRUE(has(figures[0].script, "data index 0 using 1:2"));
  EXPECT_FALSE(has(figures[0].script, "index 1"));
}

std::optional<View> presented(Record record, const char* name) {
  present(record);
  const View* view = record.find_view(name);
  return view == nullptr ? std::nullopt : std::optional(*view);
}

TEST(Roofline, PutsTheRidgeWhereTheRoofsMeet) {
  Record record;
  for (const auto& [name, unit, value] : {std::tuple{"peak.fma.core", "FLOP/s", 40e9},
                                          {"memory.bandwidth.read.dram.core", "B/s", 20e9}}) {
    Result r;
    r.name = name;
    r.unit = unit;
    r.value = value;
    record.results.push_back(r);
  }
  const auto view = presented(record, "roofline");
  ASSERT_TRUE(view);
  EXPECT_TRUE(has(view->note, "Below 2 FLOP per byte DRAM decides")) << view->note;
  const auto& curves = std::get<Curves>(view->content);
  EXPECT_EQ(curves.marks.front().at, 2);
  EXPECT_EQ(curves.series.front().x.back(), 2);
  EXPECT_EQ(curves.series.front().y.back(), 40e9);
  record.results.pop_back();
  EXPECT_FALSE(presented(record, "roofline"));
}

TEST(Roofline, GivesLevelsColoursAndKernelsShapes) {
  const Record record = testing::full_record();
  const auto& series = find_content<Curves>(record, "roofline")->series;
  const auto named = [&](const char* name) {
    return *std::find_if(series.begin(), series.end(),
                         [&](const Curve& curve) { return curve.name == name; });
  };
  EXPECT_EQ(named("sum in L1").colour, named("dot in L1").colour);
  EXPECT_NE(named("sum in L1").colour, named("sum in L2").colour);
  EXPECT_EQ(named("sum in L1").shape, named("sum in L2").shape);
  EXPECT_NE(named("sum in L1").shape, named("dot in L1").shape);
}

Record with_shares(std::initializer_list<std::pair<const char*, double>> shares) {
  Record record;
  for (const auto& [name, value] : shares) {
    Result& r = record.results.emplace_back();
    r.name = name;
    r.unit = "B/s";
    r.better = Better::higher;
    r.value = value;
    r.limit = Limit{100, "by hand"};
  }
  return record;
}

TEST(Shares, NameTheBestAndTheWorst) {
  const auto view = presented(with_shares({{"a.x", 90}, {"b.y", 25}}), "share_of_limit");
  ASSERT_TRUE(view);
  EXPECT_TRUE(has(view->note, "a.x comes closest with 90 %")) << view->note;
  EXPECT_TRUE(has(view->note, "b.y is farthest with 25 %"));
}

TEST(Shares, AreNotCloseToALimitThatTheyExceed) {
  const auto view =
      presented(with_shares({{"a.x", 192}, {"b.y", 25}, {"b.z", 80}}), "share_of_limit");
  EXPECT_TRUE(has(view->note, "b.z comes closest with 80 %")) << view->note;
  EXPECT_TRUE(has(view->note, "One bar is more than 3 % above the limit"));
}

std::string status(const Record& record, std::size_t rule) {
  return fill_checklist(record).at(rule - 1).status;
}

TEST(FillChecklist, HasTwelveNumberedRulesWithEvidence) {
  const auto rows = fill_checklist(testing::full_record());
  ASSERT_EQ(rows.size(), 12u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].rule, std::to_string(i + 1));
    EXPECT_FALSE(rows[i].evidence.empty());
    EXPECT_TRUE(rows[i].status == "kept" || rows[i].status == "partly" ||
                rows[i].status == "not applicable");
  }
}

TEST(FillChecklist, KeepsNothingThatAnEmptyRecordDoesNotShow) {
  Record empty;
  for (const auto& row : fill_checklist(empty)) EXPECT_NE(row.status, "kept") << row.rule;
}

TEST(FillChecklist, IsPartlyKeptWhenTheSurveyWasStopped) {
  auto record = testing::full_record();
  EXPECT_EQ(status(record, 2), "kept");
  record.complete = false;
  EXPECT_EQ(status(record, 2), "partly");
}

TEST(FillChecklist, SeesAFigureWithoutInterval) {
  auto record = testing::full_record();
  EXPECT_EQ(status(record, 5), "kept");
  record.results[0].interval.reset();
  EXPECT_EQ(status(record, 5), "partly");
}

TEST(FillChecklist, SeesWhatCouldNotBeReadOfTheEnvironment) {
  auto record = testing::full_record();
  EXPECT_EQ(status(record, 9), "partly");
  record.environment["processor"]["governor"] = "performance";
  EXPECT_EQ(status(record, 9), "kept");
}

TEST(FillChecklist, DoesNotClaimSynchronisationThatTheRecordDoesNotTell) {
  auto record = testing::full_record();
  EXPECT_EQ(status(record, 10), "partly");
  for (auto& r : record.results) r.details[detail::kSynchronisation] = "barrier";
  for (auto& t : record.views) t.details[detail::kSynchronisation] = "barrier";
  EXPECT_EQ(status(record, 10), "kept");
  EXPECT_EQ(status(testing::record_without_tables(), 10), "not applicable");
}

}  // namespace

}  // namespace tabane::lab
