#include "tabane/tools/survey/bench_compare.h"

#include <gtest/gtest.h>

namespace tabane::bench {
namespace {

lab::Result figure(std::string name, double value, double low, double high,
                   std::optional<double> limit = {}) {
  lab::Result result;
  result.name = std::move(name);
  result.unit = "B/s";
  result.better = lab::Better::higher;
  result.value = value;
  result.interval = core::Interval{low, high};
  if (limit) result.limit = lab::Limit{*limit, "told"};
  return result;
}

lab::Record survey(std::vector<lab::Result> results) {
  lab::Record record;
  record.results = std::move(results);
  return record;
}

TEST(IntervalPairs, FarthestApartFirstAndTouchingIntervalsOverlap) {
  const std::vector<lab::Record> surveys = {
      survey({figure("touches", 10, 9, 11), figure("apart", 10, 9, 11), figure("alone", 1, 1, 1)}),
      survey({figure("apart", 20, 19, 21), figure("touches", 12, 11, 13)})};
  const auto pairs = interval_pairs(surveys);
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].name, "apart");
  EXPECT_FALSE(pairs[0].overlap());
  EXPECT_NEAR(pairs[0].gap(), 8.0 / 15, 1e-12);
  EXPECT_EQ(pairs[1].name, "touches");
  EXPECT_TRUE(pairs[1].overlap());
}

TEST(IntervalPairs, AnyTwoOfThreeAreCompared) {
  const std::vector<lab::Record> surveys(3, survey({figure("x", 1, 1, 1)}));
  const auto pairs = interval_pairs(surveys);
  ASSERT_EQ(pairs.size(), 3u);
  EXPECT_EQ(pairs[2].first, 1u);
  EXPECT_EQ(pairs[2].second, 2u);
}

TEST(IntervalPairs, FiguresWithoutIntervalAreLeftOut) {
  lab::Result bare = figure("x", 1, 1, 1);
  bare.interval.reset();
  EXPECT_TRUE(interval_pairs(std::vector{survey({figure("x", 1, 1, 1)}), survey({bare})}).empty());
}

TEST(RelativeHalfWidths, AreOfTheValue) {
  const auto widths =
      relative_half_widths(std::vector{survey({figure("x", 10, 9, 11), figure("zero", 0, -1, 1)})});
  EXPECT_EQ(widths, std::vector{0.1});
}

TEST(SharePairs, CompareSharesNotValues) {
  const auto pairs = share_pairs(std::vector{
      survey({figure("same", 8, 8, 8, 10), figure("moved", 5, 5, 5, 10), figure("none", 1, 1, 1)}),
      survey({figure("same", 80, 80, 80, 100), figure("moved", 9, 9, 9, 10),
              figure("none", 1, 1, 1, 2)})});
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].name, "moved");
  EXPECT_NEAR(pairs[0].b - pairs[0].a, 0.4, 1e-12);
  EXPECT_NEAR(pairs[1].b - pairs[1].a, 0, 1e-12);
}

TEST(ShareOf, CountsAndNothingIsWhole) {
  EXPECT_EQ(share_of(std::vector{1, 2, 3, 4}, [](int x) { return x > 1; }), 0.75);
  EXPECT_EQ(share_of(std::vector<int>{}, [](int) { return false; }), 1);
}

TEST(SaidOf, UnitesIntervalsAndTakesTheBestRoof) {
  const std::vector<lab::Record> surveys = {
      survey({figure("m.copy.l1", 10, 9, 11), figure("m.read.l1", 30, 30, 30),
              figure("m.read.far.l1", 99, 99, 99), figure("m.read.l2", 99, 99, 99)}),
      survey({figure("m.copy.l1", 12, 11, 13), figure("m.read.l1", 20, 20, 20)})};
  const auto said = figure_in_surveys(surveys, "m.copy.l1", "m.*.l1");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->median, 11);
  EXPECT_EQ(said->roof, 30);
  EXPECT_EQ(said->of_roof(33), 1.1);
  EXPECT_EQ(said->off(9), 0);
  EXPECT_EQ(said->off(13), 0);
  EXPECT_NEAR(said->off(22), 1, 1e-12);
  EXPECT_EQ(figure_in_surveys(surveys, "m.copy.l1")->roof, 12);
  EXPECT_FALSE(figure_in_surveys(surveys, "m.read.l2"));
}

TEST(SaidOf, ALimitIsTheRoof) {
  const auto said = figure_in_surveys(
      std::vector{survey({figure("x.a", 10, 9, 11, 12), figure("x.b", 99, 99, 99)})}, "x.a", "x.*");
  EXPECT_EQ(said->roof, 12);
}

TEST(SaidOf, OfALatencyTheRoofIsTheLowest) {
  lab::Result quick = figure("t", 10, 9, 11), slow = figure("t", 20, 19, 21);
  quick.better = slow.better = lab::Better::lower;
  const auto said = figure_in_surveys(std::vector{survey({quick}), survey({slow})}, "t");
  EXPECT_EQ(said->roof, 10);
  EXPECT_EQ(said->of_roof(8), 1.25);  // quicker than the survey holds possible
}

}  // namespace
}  // namespace tabane::bench
