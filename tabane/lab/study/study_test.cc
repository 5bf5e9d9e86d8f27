#include "tabane/lab/study/study.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tabane/lab/page/plot.h"

namespace tabane::lab {
namespace {

TEST(StudyOptions, NameTheFlagTheValueAndWhatIsLegal) {
  EXPECT_NO_THROW(require_option(true, "--runs", 1, "at most 9"));
  try {
    require_option(false, "--runs", 10, "at most 9");
    FAIL();
  } catch (const core::UsageError& error) {
    EXPECT_STREQ(error.what(), "--runs 10: at most 9");
  }
}

TEST(RunningStudy, TellsOfAShortStudyAndOfFewRunsAsASurveyDoes) {
  RunningStudy study(core::Topology::detect(), {"some-study", "A study", ""}, true);
  Campaign campaign({});
  campaign.add(
      block_in_turn("a block", {{{{"way", "a"}}, [] { return Sample{1.0}; }}}, {.most = 2}));
  study.add(campaign, campaign.run(), [](const Point&) { return "a point"; });
  const Record record = study.finish();
  for (const char* id : {"quick", "few_runs"})
    EXPECT_EQ(std::ranges::count(record.warnings, id, &Warning::id), 1) << id;
  ASSERT_NE(record.find("some_study.a"), nullptr);
  EXPECT_EQ(record.find("some_study.a")->samples.size(), 2u);
}

TEST(RunningStudy, LeavesOutWhatTheStudyJudgesItself) {
  const auto has_outliers = [](std::initializer_list<std::string_view> judged) {
    RunningStudy study(core::Topology::detect(), {"some-study", "A study", ""}, false);
    Result& point = study.record.results.emplace_back();
    point.factors = {{"way", "a"}};
    std::vector<double> samples;
    for (int i = 0; i < 60; ++i) samples.push_back(i % 10 == 0 ? 200 : 100 + i * 7 % 11 * 0.1);
    set_samples(point, samples);
    return std::ranges::count(study.finish(judged).warnings, "outliers", &Warning::id) == 1;
  };
  EXPECT_TRUE(has_outliers({}));
  EXPECT_FALSE(has_outliers({"outliers"}));
}

TEST(StudyTables, HaveAColumnForEachFactorThatTheirPointsHaveBesides) {
  Points points;
  for (const double n : {1, 2})
    for (const double seconds : {2, 4})
      points.add({.factors = {{"n", n}, {"way", seconds == 2 ? "fast" : "slow"}},
                  .samples = std::vector<double>(6, seconds)});
  const Factors fast{{"way", "fast"}}, slow{{"way", "slow"}}, none{{"way", "none"}};
  const Rows rows = rows_of({{"n", level_of("n")},
                             {"size", level_of("n", "B")},
                             {"fast", time_of(fast)},
                             {"none", time_of(none)},
                             {"rate", rate_of(slow, "/s", [](const Point&) { return 8.0; })},
                             {"slow / fast", ratio_of(slow, fast)}},
                            points, combinations(points, {"n"}));
  EXPECT_EQ(rows.columns.size(), 6u);
  ASSERT_EQ(rows.rows.size(), 2u);
  const std::vector<Entry>& row = rows.rows[1];
  EXPECT_EQ(row[0].value, 2);
  EXPECT_EQ(row[1].text, "2 B");
  EXPECT_EQ(row[2].value, 2);
  EXPECT_TRUE(row[3].none());
  EXPECT_EQ(row[4].value, 2);
  EXPECT_EQ(row[5].value, 2);
}

TEST(StudyRows, ComeFromTheCombinationsThatWereMeasured) {
  Points points;
  const auto add = [&](int ranks, const char* way, std::vector<double> samples) {
    points.add({.factors = {{"way", way}, {"ranks", ranks}}, .samples = std::move(samples)});
  };
  add(4, "flags", {1});
  add(2, "tree", {1});
  add(2, "flags", {1});
  add(4, "tree", {});  // not measured
  std::vector<std::string> seen;
  for (const Factors& one : combinations(points, {"ranks", "way"}))
    seen.push_back(one.find("ranks")->text() + " " + one.find("way")->text());
  EXPECT_EQ(seen, (std::vector<std::string>{"2 tree", "2 flags", "4 flags"}));
}

TEST(StudyRows, AreLeftOutWithoutEntries) {
  const Rows rows = rows_of({"n"}, std::vector<int>{1, 2, 3}, [](int n) {
    return n == 2 ? std::vector<Entry>() : std::vector<Entry>{count_entry(n)};
  });
  ASSERT_EQ(rows.rows.size(), 2u);
  EXPECT_EQ(rows.rows[1][0].value, 3);
}

TEST(StudyEntries, ClaimNoIntervalFromTooFewSamples) {
  const Point two{.factors = {{"n", 1}}, .samples = {1, 2}};
  const Point six{.factors = {{"n", 2}}, .samples = {1, 2, 3, 4, 5, 6}};
  EXPECT_FALSE(median_entry(&two, true).interval);
  EXPECT_FALSE(ratio_entry(&two, &two).interval);
  ASSERT_TRUE(median_entry(&six, true).interval);
  EXPECT_EQ(median_entry(&six, true).interval->high, 6);
  EXPECT_TRUE(ratio_entry(&six, &six).interval);
}

TEST(StudyCurves, ClaimNoIntervalFromTooFewSamples) {
  const Point two{.factors = {{"n", 1}}, .samples = {1, 2}};
  const Point six{.factors = {{"n", 2}}, .samples = {1, 2, 3, 4, 5, 6}};
  Curves curves{{"n", "", false}, {"time", "s", false}, {}};
  add_curve(curves, curve_over("some", {&two, &six}, "n"));
  add_curve(curves, curve_over("none", {&two}, "n"));
  ASSERT_EQ(curves.series.size(), 2u);
  EXPECT_TRUE(std::isnan(curves.series[0].low.at(0)));
  EXPECT_EQ(curves.series[0].low.at(1), 1);
  EXPECT_TRUE(curves.series[1].low.empty());
  // The point stays on the chart.
  const auto figure = figure_of({.name = "a", .title = "a", .content = curves});
  ASSERT_TRUE(figure);
  EXPECT_NE(figure->data.find("\n1 1.5 1.5 1.5 "), std::string::npos) << figure->data;
}

}  // namespace
}  // namespace tabane::lab
