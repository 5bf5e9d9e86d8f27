#include "tabane/tools/slalom/block_cyclic.h"

#include <gtest/gtest.h>

#include <vector>

namespace tabane::slalom {
namespace {

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
        std::vector<int> places(static_cast<std::size_t>(parts), 0);
        BlockCyclic all{count, block, parts, 0};
        for (int b = 0; b < all.blocks(); ++b) {
          const BlockCyclic owner = all.of(all.owner(b));
          int& place = places[static_cast<std::size_t>(owner.mine)];
          EXPECT_EQ(owner.indices_before(b), place);
          EXPECT_EQ(owner.my_block(owner.blocks_before(b)), b);
          place += all.size(b);
        }
        int sum = 0;
        for (int part = 0; part < parts; ++part) {
          EXPECT_EQ(all.of(part).my_count(), places[static_cast<std::size_t>(part)]);
          sum += all.of(part).my_count();
        }
        EXPECT_EQ(sum, count);
      }
    }
  }
}

}  // namespace
}  // namespace tabane::slalom
