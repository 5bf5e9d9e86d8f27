#include "tabane/workloads/mp_matmul/blocks.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"

namespace tabane::workloads::mp_matmul {
namespace {

TEST(MpBlocks, HoldAllIfMemoryAllows) {
  const Blocks blocks = choose_blocks({100, 80, 1000, 50, 0, 1, 1e9});
  EXPECT_EQ(blocks.rows, 100U);
  EXPECT_EQ(blocks.columns, 80U);
  EXPECT_EQ(blocks.tile_rows * blocks.tile_columns, 8000U);
  EXPECT_EQ(blocks.bytes, 180 * 1000 + 8000 * 50);
}

TEST(MpBlocks, HaveATileForEachThreadAndStayBelowTheLimit) {
  for (const int threads : {1, 2, 7}) {
    for (const double memory : {5e4, 1e5, 3e5, 1e6}) {
      const Blocks blocks = choose_blocks({300, 40, 1000, 50, 100, threads, memory});
      EXPECT_LE(blocks.bytes, memory);
      const std::size_t down = (blocks.rows + blocks.tile_rows - 1) / blocks.tile_rows;
      const std::size_t across = (blocks.columns + blocks.tile_columns - 1) / blocks.tile_columns;
      EXPECT_GE(down * across, static_cast<std::size_t>(threads));
    }
  }
}

TEST(MpBlocks, SayWhatWouldSuffice) {
  try {
    choose_blocks({10, 10, 1000, 48, 0, 1, 500});
    ADD_FAILURE();
  } catch (const core::UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("take 2 KiB"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tabane::workloads::mp_matmul
