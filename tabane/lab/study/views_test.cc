#include "tabane/lab/study/views.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tabane/lab/page/plot.h"

namespace tabane::lab {
namespace {

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

// Two ways with as many seconds as n, and twice as many.
Points two_ways() {
  Points points;
  for (const double n : {1, 2, 4})
    for (const char* way : {"slow", "fast"})
      points.add({.factors = {{"way", way}, {"n", n}},
                  .samples = std::vector<double>(6, *way == 's' ? 2 * n : n)});
  return points;
}

TEST(StudyCurves, ShowWhatACellShowsOverTheRowsThatHaveIt) {
  Points points = two_ways();
  points[2].samples.clear();  // slow, n = 2
  const Factors slow{{"way", "slow"}}, fast{{"way", "fast"}};
  const Curve ratio =
      curve_of("slow / fast", ratio_of(slow, fast), points, combinations(points, {"n"}), "n");
  EXPECT_EQ(ratio.x, (std::vector<double>{1, 4}));
  EXPECT_EQ(ratio.y, (std::vector<double>{2, 2}));
  const auto one = [](const Point&) { return 1.0; };
  const Curve rate =
      curve_of("rate", rate_of(fast, "/s", one, true), points, combinations(points, {"n"}), "n");
  EXPECT_EQ(rate.y, (std::vector<double>{1, 0.5, 0.25}));
  EXPECT_EQ(rate.high, rate.y);
}

TEST(StudyCurves, AreALineForEachWord) {
  const auto lines = lines_by(two_ways(), "way", {{"n", 1}},
                              [](const std::string& word) { return "the " + word + " one"; });
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].name, "the fast one");
  EXPECT_EQ(lines[1].factors, (Factors{{"n", 1}, {"way", "fast"}}));
}

TEST(StudyMaps, HaveACellForEachRowAndColumn) {
  const Points points = two_ways();
  const std::vector<Factors> ns = combinations(points, {"n"});
  const Matrix matrix = matrix_of(time_of(), points, ns, {{{"way", "fast"}}, {{"way", "none"}}});
  EXPECT_EQ(matrix.rows, (std::vector<std::string>{"1", "2", "4"}));
  EXPECT_EQ(matrix.columns, (std::vector<std::string>{"fast", "none"}));
  EXPECT_EQ(matrix.values[2][0], 4);
  EXPECT_EQ(matrix.values[2][1], std::nullopt);
}

TEST(UnusuallyHigh, IsBeyondTheFarFenceOnTheSlowSideOnly) {
  // Quartiles 10 and 12: fences at 4 and 18.
  const std::vector<double> seconds = {10, 10, 10, 11, 11, 12, 12, 12, 19, 1, 17};
  const std::vector<bool> high = unusually_high(seconds);
  EXPECT_EQ(std::count(high.begin(), high.end(), true), 1);
  EXPECT_TRUE(high[8]);
}

TEST(UnusuallyHigh, IsNothingThatIsNotKnown) {
  EXPECT_EQ(unusually_high({std::nan(""), std::nan("")}), std::vector<bool>(2));
}

}  // namespace
}  // namespace tabane::lab
