#include "tabane/cli/text_table.h"

#include <gtest/gtest.h>

#include <vector>

namespace tabane::cli {
namespace {

TEST(TextTable, AlignsNumbersRightAndWordsLeft) {
  EXPECT_EQ(text_table({{"kernel", "rate"}, {"sum", "4.05"}, {"dot product", "12"}}),
            "kernel       rate\n"
            "sum          4.05\n"
            "dot product    12\n");
}

TEST(TextTable, CountsCharactersAndNotBytes) {
  EXPECT_EQ(text_table({{"a", "b"}, {"µs", "x"}, {"abc", "y"}}), "a    b\nµs   x\nabc  y\n");
}

TEST(TextTable, OfNothingIsEmpty) { EXPECT_EQ(text_table({}), ""); }

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

TEST(ResultLine, SaysNotMeasuredRatherThanZero) {
  lab::Result result;
  result.name = "numa.latency";
  result.unit = "ns";
  EXPECT_NE(result_line(result).find("not measured"), std::string::npos);
}

}  // namespace
}  // namespace tabane::cli
