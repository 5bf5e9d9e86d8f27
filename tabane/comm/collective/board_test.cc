#include "tabane/comm/collective/board.h"

#include <gtest/gtest.h>

namespace tabane::comm {
namespace {

TEST(BoardSize, IsSmallAndInPages) {
  EXPECT_EQ(board_bytes(1), 0u);
  for (const int ranks : {2, 3, 8, 16}) EXPECT_LE(board_bytes(ranks), 150u * 1024) << ranks;
  for (int ranks = 2; ranks <= 512; ++ranks) {
    EXPECT_EQ(board_bytes(ranks) % 4096, 0u);
    EXPECT_LE(board_bytes(ranks), 1024u * 1024);
    EXPECT_LE(least_board_bytes(ranks), board_bytes(ranks));
  }
}

TEST(BoardLayout, FitsIntoWhatThereIs) {
  for (int ranks = 2; ranks <= 512; ranks = ranks * 3 / 2) {
    for (std::size_t bytes = least_board_bytes(ranks); bytes <= 2 * board_bytes(ranks);
         bytes = bytes * 9 / 8) {
      const BoardLayout layout(ranks, bytes);
      EXPECT_LE(layout.end, bytes);
      EXPECT_GE(layout.chunk_bytes, 512u);
      EXPECT_GE(layout.slot_bytes, 256u);
    }
    EXPECT_EQ(BoardLayout(ranks, board_bytes(ranks)).chunk_bytes, 16u * 1024);
  }
}

// Every rank has a leader, and every leader a rank.
TEST(BoardLayout, LeadersCoverTheRanks) {
  for (int ranks = 2; ranks <= 512; ++ranks) {
    const BoardLayout layout(ranks, board_bytes(ranks));
    EXPECT_GE(layout.leaders * layout.width, ranks);
    EXPECT_LT((layout.leaders - 1) * layout.width, ranks);
  }
}

TEST(BoardLayout, PartsFollowEachOther) {
  const BoardLayout layout(5, board_bytes(5));
  EXPECT_EQ(layout.width, 3);
  EXPECT_EQ(layout.leaders, 2);
  EXPECT_EQ(layout.lines, 128u);
  EXPECT_EQ(layout.leader_lines, 128u + 640);
  EXPECT_EQ(layout.root_lines, 768u + 256);
  EXPECT_EQ(layout.consumed, 1024u + 640);
  EXPECT_EQ(layout.chunks, 1664u + 320);
}

}  // namespace
}  // namespace tabane::comm
