#include "tabane/tools/linpack/block_cyclic.h"

#include <gtest/gtest.h>

namespace tabane::linpack {
namespace {

TEST(BlockCyclic, DealsBlocksOutInTurn) {  // 0 1 | 2 3 | 4 5 | 6 7 | 8, to ranks 0 1 2 0 1
  const BlockCyclic second{.block = 2, .ranks = 3, .rank = 1};
  EXPECT_EQ(second.owner(3), 1);
  EXPECT_EQ(second.owner(8), 1);
  EXPECT_EQ(second.count_before(9), 3);  // 2 3 8
  EXPECT_EQ(second.global(2), 8);
}

TEST(BlockCyclic, GivesEveryIndexToOneRank) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    for (int block = 1; block <= 5; ++block) {
      for (int n = 0; n <= 50; ++n) {
        int all = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          const BlockCyclic part{block, ranks, rank};
          const int count = part.count_before(n);
          all += count;
          for (int local = 0; local < count; ++local) {
            const int global = part.global(local);
            ASSERT_LT(global, n);
            ASSERT_EQ(part.owner(global), rank);
            ASSERT_EQ(part.count_before(global), local);
          }
        }
        ASSERT_EQ(all, n);
      }
    }
  }
}

}  // namespace
}  // namespace tabane::linpack
