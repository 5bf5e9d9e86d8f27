#include "tabane/core/random.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tabane::core {
namespace {

// source: the first numbers of Vigna's splitmix64.c with the state 1234567.
TEST(SplitMix64, GivesThePublishedNumbers) {
  SplitMix64 random(1234567);
  std::uint64_t index = 0;
  for (const std::uint64_t expected :
       {6457827717110365317u, 3203168211198807973u, 9817491932198370423u, 4593380528125082431u,
        16408922859458223821u}) {
    EXPECT_EQ(random.next(), expected);
    EXPECT_EQ(random_bits(1234567, index++), expected);
  }
}

TEST(SplitMix64, DrawsEveryNumberBelowALimitAndNoOther) {
  SplitMix64 random(1);
  int counts[3] = {};
  for (int i = 0; i < 3000; ++i) ++counts[random.below(3)];
  EXPECT_GT(*std::ranges::min_element(counts), 900);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(random.below(1), 0u);
}

TEST(SplitMix64, UnitIsBelowOne) {
  SplitMix64 random(2);
  double sum = 0, most = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double x = random.unit();
    ASSERT_GE(x, 0);
    most = std::max(most, x);
    sum += x;
  }
  EXPECT_LT(most, 1);
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

TEST(SplitMix64, StreamsOfASeedDiffer) {
  EXPECT_NE(SplitMix64(1, 0).next(), SplitMix64(1, 1).next());
  EXPECT_NE(SplitMix64(1, 0).next(), SplitMix64(0, 1).next());
  EXPECT_NE(SplitMix64(1, 0).next(), SplitMix64(1).next());
}

}  // namespace
}  // namespace tabane::core
