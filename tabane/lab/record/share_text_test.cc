#include "tabane/lab/record/share_text.h"

#include <gtest/gtest.h>

namespace tabane::lab {
namespace {

Result latency(std::vector<double> samples, std::vector<double> limit) {
  Result result;
  result.unit = "ns";
  result.better = Better::lower;
  set_samples(result, std::move(samples));
  set_limit(result, "in turn", std::move(limit));
  return result;
}

TEST(ShowShare, IsTheQuotientOfValueAndLimitWhereTheyAgree) {
  EXPECT_EQ(show_share(latency({80, 80, 80}, {40, 40, 40})), "50 %");
}

// The machine is slow in other rounds for the figure than for its limit.
TEST(ShowShare, ShowsBothWhereTurnsSayAnotherThanMedians) {
  const Result result = latency({100, 50, 80, 160, 80}, {40, 60, 32, 64, 60});
  EXPECT_EQ(*result.value, 80);
  EXPECT_EQ(result.limit->value, 60);
  EXPECT_EQ(show_share(result), "40 % in turn, 75 %");
}

}  // namespace
}  // namespace tabane::lab
