#include "tabane/tools/tune/tuned_command.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"

namespace tabane::program {
namespace {

TEST(Metric, IsTheLastNumberThatMatches) {
  const Metric metric("GFLOPS: ([0-9.]+)");
  EXPECT_EQ(metric.last_in("GFLOPS: 1.5 GFLOPS: 2.5\n\nGFLOPS: none\nGFLOPS: 3.5, GFLOPS: 4\n"), 4);
  EXPECT_EQ(metric.last_in("GFLOPS: 1.5 GFLOPS: 2.5\nGFLOPS: .\n"), 2.5);
  EXPECT_EQ(metric.last_in("GFLOPS: 7"), 7);
  EXPECT_FALSE(metric.last_in("GFLOPS:\n 7\n"));
  EXPECT_FALSE(metric.last_in(""));
  EXPECT_FALSE(metric.last_in("\n\n"));
}

TEST(Metric, IsFoundLineByLine) {
  EXPECT_EQ(Metric("^speed ([0-9]+)$").last_in("begins\nspeed 5\nspeed 6x\nends\n"), 5);
  EXPECT_EQ(Metric("^([0-9])").last_in("12"), 1);  // only at the beginning
  EXPECT_EQ(Metric("(a|([0-9]+))*").last_in("b\n"), std::nullopt);
  EXPECT_EQ(Metric("([0-9]*)").last_in("a 8 b"), 8);
  EXPECT_EQ(Metric("x([0-9])").last_in(std::string_view("\0x1\0", 4)), 1);
}

// What recurs for every character overflows the stack here.
TEST(Metric, OfLongLinesNeedsNoStack) {
  const std::string line(1 << 20, 'a');
  for (const char* expression : {"(.*)X", ".*X([0-9])", "((a|b)*)*X"})
    EXPECT_FALSE(Metric(expression).last_in(line)) << expression;
  EXPECT_EQ(Metric(".*: ([0-9]+)").last_in(line + ": 5\n" + line), 5);
}

TEST(Metric, HasToBeAnExpressionWithAGroup) {
  for (const char* wrong : {"(", "[", "a**(", "GFLOPS: [0-9.]+", "(\\d+)"})
    EXPECT_THROW(Metric{wrong}, core::UsageError) << wrong;
  try {
    Metric("(");
  } catch (const core::UsageError& error) {
    EXPECT_STREQ(error.what(), "--metric '(': Unmatched (");
  }
}

}  // namespace
}  // namespace tabane::program
