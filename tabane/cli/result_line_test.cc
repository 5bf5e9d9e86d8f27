#include "tabane/cli/result_line.h"

#include <gtest/gtest.h>

namespace tabane::cli {
namespace {

TEST(ResultLine, ShowsValueSpreadAndShareOfTheLimit) {
  lab::Result result;
  result.name = "simd.dot.l1";
  result.unit = "FLOP/s";
  result.better = lab::Better::higher;
  result.limit = lab::Limit{2e10, "peak"};
  lab::set_samples(result, std::vector<double>(6, 1.9e10));
  EXPECT_EQ(result_line(result),
            "simd.dot.l1                          19.0 GFLOP/s  ± 0.0 %    95 % of limit");
}

TEST(ResultLine, KeepsADigitOfASmallShare) {
  lab::Result result;
  result.name = "fork.rate";
  result.unit = "1/s";
  result.better = lab::Better::higher;
  result.limit = lab::Limit{1000, "peak"};
  result.value = 3;
  EXPECT_TRUE(result_line(result).ends_with(" 0.3 % of limit")) << result_line(result);
  result.value = 0.1;
  EXPECT_TRUE(result_line(result).ends_with(" below 0.1 % of limit")) << result_line(result);
}

TEST(ResultLine, SaysNotMeasuredRatherThanZero) {
  lab::Result result;
  result.name = "numa.latency";
  result.unit = "ns";
  EXPECT_NE(result_line(result).find("not measured"), std::string::npos);
}

TEST(ResultLine, ShowsTheEndsOfAnIntervalWiderThanTheValue) {
  lab::Result result;
  result.name = "a";
  result.unit = "s";
  result.value = 1;
  result.interval = core::Interval{0.5, 5};
  EXPECT_NE(result_line(result).find("[500 ms, 5.00 s]"), std::string::npos) << result_line(result);
}

}  // namespace
}  // namespace tabane::cli
