#include "tabane/tools/matmul/blocks.h"

#include <gtest/gtest.h>

#include <string>

#include "tabane/core/error.h"

namespace tabane::matmul {
namespace {

TEST(MpBlocks, HoldAllIfMemoryAllows) {
  const Blocks blocks = choose_blocks({100, 80, 10, 1000, 40, 8, 0, 1, 1e9});
  EXPECT_EQ(blocks.rows, 100U);
  EXPECT_EQ(blocks.columns, 80U);
  EXPECT_EQ(blocks.primes, 10U);
  EXPECT_EQ(blocks.tile_rows * blocks.tile_columns, 8000U);
  EXPECT_EQ(blocks.bytes, 180 * 1000 * 10 + 8000 * 48);
}

TEST(MpBlocks, TakePrimesInTurnsOfOneSize) {
  // 800 MB for all 48, in turns of at most 256 MiB
  const Blocks blocks = choose_blocks({1000, 1000, 48, 8000, 192, 8, 0, 1, 1e10});
  EXPECT_EQ(blocks.rows, 1000U);
  EXPECT_EQ(blocks.primes, 16U);
}

TEST(MpBlocks, HaveATileForEachThreadAndStayBelowTheLimit) {
  for (const int threads : {1, 2, 7}) {
    for (const double memory : {5e4, 1e5, 3e5, 1e6}) {
      const Blocks blocks = choose_blocks({300, 40, 20, 1000, 80, 8, 100, threads, memory});
      EXPECT_LE(blocks.bytes, memory);
      const std::size_t down = (blocks.rows + blocks.tile_rows - 1) / blocks.tile_rows;
      const std::size_t across = (blocks.columns + blocks.tile_columns - 1) / blocks.tile_columns;
      EXPECT_GE(down * across, static_cast<std::size_t>(threads));
    }
  }
}

TEST(MpBlocks, SayWhatWouldSuffice) {
  try {
    choose_blocks({10, 10, 5, 1000, 40, 8, 0, 1, 500});
    ADD_FAILURE();
  } catch (const core::UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("take 2 KiB"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tabane::matmul
