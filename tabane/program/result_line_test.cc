#include "tabane/program/result_line.h"

#include <gtest/gtest.h>

namespace tabane::program {
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

TEST(ResultLine, GivesTheIntervalOfAShareAndNamesARoofThatIsTooLow) {
  lab::Result result;
  result.name = "simd.axpy.l2";
  result.unit = "FLOP/s";
  result.better = lab::Better::higher;
  lab::set_samples(result, {90, 92, 94, 96, 98, 100});
  lab::set_limit(result, "in turn", std::vector<double>(6, 100.0));
  EXPECT_TRUE(result_line(result).ends_with("95 % of limit ± 5")) << result_line(result);
  lab::set_limit(result, "in turn", std::vector<double>(6, 65.0));
  EXPECT_TRUE(result_line(result).ends_with("146 % of limit: the roof is too low"))
      << result_line(result);
}

TEST(ResultLine, ShowsBothStatesOfAFigureThatHasTwo) {
  lab::Result result;
  result.name = "memory.bandwidth.triad.dram.machine";
  result.unit = "B/s";
  std::vector<double> samples(30, 60e9);
  for (std::size_t i = 0; i < samples.size(); i += 3) samples[i] = 120e9;
  lab::set_samples(result, samples);
  EXPECT_TRUE(
      result_line(result).ends_with("two states: 120 GB/s for 33 % of the time, else 60.0 GB/s"))
      << result_line(result);
}

TEST(ResultLine, SaysNotMeasuredAndWhyRatherThanZero) {
  lab::Result result;
  result.name = "numa.latency";
  result.unit = "ns";
  EXPECT_TRUE(result_line(result).ends_with("not measured"));
  result.reason = "a thread did not get its CPU";
  EXPECT_TRUE(result_line(result).ends_with("not measured: a thread did not get its CPU"));
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
}  // namespace tabane::program
