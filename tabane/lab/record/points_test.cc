#include "tabane/lab/record/points.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"

namespace tabane::lab {
namespace {

Points some_points() {
  Points points;
  points.add({.factors = {{"way", "tree"}, {"ranks", 8}}, .block = 1, .samples = {4, 4, 4}});
  points.add({.factors = {{"way", "flags"}, {"ranks", 8}}, .block = 1, .samples = {2, 2, 2}});
  points.add({.factors = {{"way", "tree"}, {"ranks", 2}}, .block = 2, .samples = {1, 1, 1}});
  points.add({.factors = {{"way", "tree"}, {"ranks", 4}}, .block = 3});  // not measured
  return points;
}

TEST(Points, AreFoundByTheirFactors) {
  const Points points = some_points();
  EXPECT_EQ(points.find({{"ranks", 8}, {"way", "flags"}})->median(), 2);
  EXPECT_EQ(points.find({{"ranks", 4}}), nullptr);
  EXPECT_EQ(points.where({{"way", "tree"}}).size(), 2u);
  EXPECT_EQ(points.where({{"way", "tree"}}, "ranks").front()->number("ranks"), 2);
}

TEST(Points, RefuseFactorsThatNoneHas) {
  EXPECT_THROW(some_points().find({{"rank", 8}}), core::Error);
  EXPECT_THROW(some_points().levels("rank"), core::Error);
}

TEST(Points, GiveLevelsOfWhatWasMeasured) {
  const Points points = some_points();
  EXPECT_EQ(points.numbers("ranks"), (std::vector<double>{2, 8}));
  EXPECT_EQ(points.words("way"), (std::vector<std::string>{"tree", "flags"}));
  EXPECT_EQ(points.words("way", {{"ranks", 2}}), (std::vector<std::string>{"tree"}));
}

TEST(RatioInTurn, IsOfPointsOfOneBlock) {
  const Points points = some_points();
  const Point *tree = points.find({{"way", "tree"}, {"ranks", 8}}),
              *flags = points.find({{"way", "flags"}});
  EXPECT_EQ(ratio_in_turn(tree, flags)->value, 2);
  EXPECT_FALSE(ratio_in_turn(tree, points.find({{"ranks", 2}})));
  EXPECT_FALSE(ratio_in_turn(tree, nullptr));
}

TEST(Fastest, HasTheLeastMedian) {
  const Points points = some_points();
  EXPECT_EQ(fastest(points.where({{"ranks", 8}}))->text("way"), "flags");
  EXPECT_EQ(fastest({}), nullptr);
}

TEST(Factors, MatchWhatIsNamedAndKeepTheirOrder) {
  Factors factors = {{"way", "flags"}, {"ranks", 8}};
  EXPECT_TRUE(factors.match({{"ranks", 8}}));
  EXPECT_FALSE(factors.match({{"ranks", "8"}}));
  EXPECT_FALSE(factors.match({{"bytes", 8}}));
  EXPECT_EQ(factors.with({{"ranks", 2}, {"bytes", 64}}).begin()->name, "way");
  EXPECT_EQ(factors.with({{"ranks", 2}}).find("ranks")->number(), 2);
}

TEST(Level, ReadsAsText) {
  EXPECT_EQ(Level(8).text(), "8");
  EXPECT_EQ(Level(0.5).text(), "0.5");
  EXPECT_EQ(Level("flags").text(), "flags");
  EXPECT_LT(Level(9), Level("flags"));
}

}  // namespace
}  // namespace tabane::lab
