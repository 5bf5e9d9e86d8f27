#include "tabane/core/rank_sum.h"

#include <gtest/gtest.h>

#include <vector>

namespace tabane::core {
namespace {

TEST(RankSumChance, IsTheShareOfChoicesThatLieAsFarApart) {
  using V = std::vector<double>;
  EXPECT_NEAR(rank_sum_chance(V{1, 2, 3}, V{4, 5, 6}), 2. / 20, 1e-12);
  EXPECT_NEAR(rank_sum_chance(V{6, 4, 5}, V{2, 3, 1}), 2. / 20, 1e-12);
  EXPECT_NEAR(rank_sum_chance(V{1, 2, 3, 4, 5, 6}, V{7, 8, 9, 10, 11, 12}), 2. / 924, 1e-12);
  EXPECT_NEAR(rank_sum_chance(V{1}, V{2, 3, 4}), 2. / 4, 1e-12);
  EXPECT_NEAR(rank_sum_chance(V{1, 1, 2}, V{2, 2, 2}), 8. / 20, 1e-12);
  EXPECT_NEAR(rank_sum_chance(V{1, 4}, V{2, 3}), 1, 1e-12);
  EXPECT_NEAR(rank_sum_chance(V{5, 5, 5}, V{5, 5}), 1, 1e-12);
}

TEST(RankSumChance, OfManySamplesIsThatOfTheNormalDistribution) {
  // Of n and n in turns, with the first ones of the second series moved down.
  const auto chance = [](int n, int moved) {
    std::vector<double> a, b;
    for (int i = 0; i < n; ++i) {
      a.push_back(2 * i);
      b.push_back(i < moved ? -1 - i : 2 * i + 1);
    }
    return rank_sum_chance(a, b);
  };
  for (const int moved : {2, 4, 6, 8}) {
    EXPECT_NEAR(chance(20, moved), chance(21, moved), 0.04) << moved;
  }
  EXPECT_LT(chance(200, 150), 1e-6);
  EXPECT_EQ(rank_sum_chance(std::vector<double>(30, 5), std::vector<double>(30, 5)), 1);
}

}  // namespace
}  // namespace tabane::core
