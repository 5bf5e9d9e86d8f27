#include "tabane/tools/scg/system.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"

namespace tabane::scg {
namespace {

using comm::GridShape;

TEST(Grid, KeepsHalosShort) {
  const Problem square{.rows = 400, .columns = 400};
  EXPECT_EQ(choose_grid(1, square), (GridShape{1, 1}));
  EXPECT_EQ(choose_grid(2, square), (GridShape{2, 1}));  // rows lie together
  EXPECT_EQ(choose_grid(4, square), (GridShape{2, 2}));
  EXPECT_EQ(choose_grid(2, {.rows = 10, .columns = 1000}), (GridShape{1, 2}));
  EXPECT_EQ(choose_grid(2, square, {1, 2}), (GridShape{1, 2}));
  EXPECT_EQ(choose_grid(6, square, {0, 6}), (GridShape{1, 6}));
}

TEST(Grid, ThatDoesNotFitIsRefused) {
  EXPECT_THROW(choose_grid(9, {.rows = 2, .columns = 2}), core::UsageError);
  EXPECT_THROW(choose_grid(4, {.rows = 3, .columns = 9}, {4, 1}), core::UsageError);
  EXPECT_THROW(choose_grid(4, {.rows = 9, .columns = 9}, {3, 1}), core::UsageError);
  EXPECT_EQ(most_ranks(9, {.rows = 2, .columns = 2}), 4);
  EXPECT_EQ(most_ranks(7, {.rows = 2, .columns = 3}), 6);
  EXPECT_EQ(most_ranks(5, {.rows = 1, .columns = 1}), 1);
}

TEST(Blocks, CoverTheMeshOnceAndKnowTheirNeighbours) {
  const Problem problem{.rows = 7, .columns = 10};
  const GridShape grid{3, 4};
  std::vector<int> owner(70, -1);
  for (int rank = 0; rank < 12; ++rank) {
    const Block block = block_of(problem, grid, rank);
    for (std::size_t i = 0; i < block.rows; ++i) {
      for (std::size_t j = 0; j < block.columns; ++j) {
        int& cell = owner[(block.first_row + i) * 10 + block.first_column + j];
        EXPECT_EQ(cell, -1);
        cell = rank;
      }
    }
  }
  for (int rank = 0; rank < 12; ++rank) {
    const Block block = block_of(problem, grid, rank);
    const auto at = [&](std::size_t i, std::size_t j) {
      return i < 7 && j < 10 ? owner[i * 10 + j] : -1;
    };
    EXPECT_EQ(block.neighbours[kNorth], at(block.first_row - 1, block.first_column));
    EXPECT_EQ(block.neighbours[kSouth], at(block.first_row + block.rows, block.first_column));
    EXPECT_EQ(block.neighbours[kWest], at(block.first_row, block.first_column - 1));
    EXPECT_EQ(block.neighbours[kEast], at(block.first_row, block.first_column + block.columns));
  }
}

}  // namespace
}  // namespace tabane::scg
