#include "tabane/lab/record/join_passes.h"

#include <gtest/gtest.h>

namespace tabane::lab {
namespace {

View curves(std::vector<Curve> series) {
  return {.name = "v", .title = "", .content = Curves{{"x", "", false}, {"y", "", false}, series}};
}

TEST(JoinPasses, TakesTheMedianOfEachPointThatAPassHas) {
  const std::vector<View> passes = {curves({{"a", {1, 2}, {10, 20}}}),
                                    curves({{"a", {1}, {30}}, {"b", {1}, {5}}}),
                                    curves({{"a", {1, 3}, {20, 7}}})};
  const View joined = join_passes(passes);
  const auto& series = std::get<Curves>(joined.content).series;
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0].x, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(series[0].y, (std::vector<double>{20, 20, 7}));
  EXPECT_EQ(series[0].low, (std::vector<double>{10, 20, 7}));
  EXPECT_EQ(series[0].high, (std::vector<double>{30, 20, 7}));
  EXPECT_EQ(series[1].y, (std::vector<double>{5}));
}

TEST(JoinPasses, LeavesASinglePassAlone) {
  const std::vector<View> one = {curves({{"a", {1}, {10}, {8}, {12}}})};
  EXPECT_EQ(std::get<Curves>(join_passes(one).content).series[0].low, (std::vector<double>{8}));
}

TEST(JoinPasses, FillsAMatrixFromPassesThatSawAPartOfIt) {
  const auto matrix = [](std::vector<std::string> names,
                         std::vector<std::vector<std::optional<double>>> values) {
    return View{.name = "m",
                .title = "",
                .content = Matrix{"ns", Better::lower, names, names, std::move(values)}};
  };
  const std::vector<View> passes = {matrix({"0", "1"}, {{{}, 30.0}, {30.0, {}}}),
                                    matrix({"1", "0"}, {{{}, 50.0}, {50.0, {}}}),
                                    matrix({"0"}, {{{}}})};
  const View joined = join_passes(passes);
  const auto& values = std::get<Matrix>(joined.content).values;
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0][1], 40.0);
  EXPECT_FALSE(values[0][0]);
}

TEST(JoinPasses, JoinsRowsByTheirFirstEntry) {
  const auto rows = [](double sum, double dot) {
    return View{.name = "r",
                .title = "",
                .content = Rows{{"kernel", "rate"},
                                {{"sum", Entry(sum, "FLOP/s")}, {"dot", Entry(dot, "FLOP/s")}}}};
  };
  const View joined = join_passes(std::vector<View>{rows(1, 10), rows(3, 20), rows(2, 60)});
  const auto& table = std::get<Rows>(joined.content).rows;
  EXPECT_EQ(table[0][1].value, 2.0);
  EXPECT_EQ(table[1][1].value, 20.0);
}

}  // namespace
}  // namespace tabane::lab
