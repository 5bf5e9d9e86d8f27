#include "tabane/solver/block_cyclic.h"

#include <gtest/gtest.h>

#include <vector>

namespace tabane::solver {
namespace {

TEST(BlockCyclic, DealsIndicesOutInTurn) {  // 0 1 | 2 3 | 4 5 | 6 7 | 8, to ranks 0 1 2 0 1
  const BlockCyclic second{.count = 9, .block = 2, .parts = 3, .mine = 1};
  EXPECT_EQ(second.owner_of_index(3), 1);
  EXPECT_EQ(second.owner_of_index(8), 1);
  EXPECT_EQ(second.count_before(9), 3);  // 2 3 8
  EXPECT_EQ(second.global(2), 8);
}

TEST(BlockCyclic, GivesEachIndexAPlaceInOnePart) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    for (int block = 1; block <= 5; ++block) {
      for (int n = 0; n <= 50; ++n) {
        int all = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          const BlockCyclic part{n, block, ranks, rank};
          const int count = part.count_before(n);
          all += count;
          for (int local = 0; local < count; ++local) {
            const int global = part.global(local);
            ASSERT_LT(global, n);
            ASSERT_EQ(part.owner_of_index(global), rank);
            ASSERT_EQ(part.count_before(global), local);
          }
        }
        ASSERT_EQ(all, n);
      }
    }
  }
}

TEST(BlockCyclic, DealsOutBlocksInTurn) {
  const BlockCyclic second{.count = 10, .block = 3, .parts = 2, .mine = 1};
  EXPECT_EQ(second.blocks(), 4);
  EXPECT_EQ(second.my_blocks(), 2);
  EXPECT_EQ(second.my_block(1), 3);
  EXPECT_EQ(second.size(3), 1);
  EXPECT_EQ(second.my_count(), 4);  // 3, 4, 5, 9
  EXPECT_EQ(second.indices_before(1), 0);
  EXPECT_EQ(second.indices_before(2), 3);
  EXPECT_EQ(second.indices_before(3), 3);
  EXPECT_EQ(second.indices_before(second.my_block(2)), 4);
}

TEST(BlockCyclic, GivesEachIndexToOnePart) {
  for (int count : {0, 1, 7, 8, 23, 64}) {
    for (int block : {1, 4, 100}) {
      for (int parts : {1, 2, 5}) {
        std::vector<int> places(parts, 0);
        BlockCyclic all{count, block, parts, 0};
        for (int b = 0; b < all.blocks(); ++b) {
          const BlockCyclic owner = all.of(all.owner_of_block(b));
          int& place = places[owner.mine];
          EXPECT_EQ(owner.indices_before(b), place);
          EXPECT_EQ(owner.my_block(owner.blocks_before(b)), b);
          place += all.size(b);
        }
        int sum = 0;
        for (int part = 0; part < parts; ++part) {
          EXPECT_EQ(all.of(part).my_count(), places[part]);
          sum += all.of(part).my_count();
        }
        EXPECT_EQ(sum, count);
      }
    }
  }
}

}  // namespace
}  // namespace tabane::solver
