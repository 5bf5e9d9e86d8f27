#include <gtest/gtest.h>

#include <numeric>

#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {
namespace {

TEST(GrowingArray, KeepsItsValuesAsItGrows) {
  GrowingArray<int> values;
  EXPECT_TRUE(values.empty());
  for (int i = 0; i < 100'000; ++i) values.push_back(i);
  ASSERT_EQ(values.size(), 100'000u);
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0LL), 4999950000LL);
  EXPECT_EQ(values.front(), 0);
  EXPECT_EQ(values.back(), 99'999);
}

TEST(GrowingArray, AppendsManyAndNoneAndItself) {
  GrowingArray<char> text;
  text.append("", 0);
  EXPECT_TRUE(text.empty());
  text.append("abc", 3);
  while (text.size() < 100) text.push_back(text.back());
  EXPECT_EQ(text[2], 'c');
  EXPECT_EQ(text[99], 'c');
}

TEST(GrowingArray, LeavesNothingBehindWhenItMoves) {
  GrowingArray<int> from;
  from.push_back(7);
  GrowingArray<int> to = std::move(from);
  EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move)
  from.push_back(8);
  EXPECT_EQ(from[0], 8);
  from = std::move(to);
  ASSERT_EQ(from.size(), 1u);
  EXPECT_EQ(from[0], 7);
}

}  // namespace
}  // namespace tabane::encrypt
