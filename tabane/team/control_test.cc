#include "tabane/team/control.h"

#include <gtest/gtest.h>

namespace tabane::team {
namespace {

constexpr std::size_t kMany = 1'000'000'000;

TEST(ChunkSize, BeginsWithOneTask) { EXPECT_EQ(ChunkSize(2).now(), 1u); }

TEST(ChunkSize, DoublesUntilAChunkTakesTheTimeAimedAt) {
  ChunkSize chunk(2);
  for (const std::size_t expected : {2u, 4u, 8u, 16u, 32u, 32u, 32u}) {
    chunk.adapt(1000 * chunk.now(), chunk.now(), kMany);  // 1 us a task
    EXPECT_EQ(chunk.now(), expected);
  }
}

TEST(ChunkSize, FallsAtOnceWhenTasksBecomeLonger) {
  ChunkSize chunk(2);
  for (int i = 0; i < 10; ++i) chunk.adapt(1000 * chunk.now(), chunk.now(), kMany);
  chunk.adapt(16'000 * chunk.now(), chunk.now(), kMany);
  EXPECT_EQ(chunk.now(), 2u);
  chunk.adapt(1'000'000'000, chunk.now(), kMany);
  EXPECT_EQ(chunk.now(), 1u);
}

TEST(ChunkSize, TakesAtMostAQuarterOfAWorkersShareOfWhatIsLeft) {
  ChunkSize chunk(4);
  for (int i = 0; i < 40; ++i) chunk.adapt(0, chunk.now(), 1600);
  EXPECT_EQ(chunk.now(), 100u);
  chunk.adapt(0, chunk.now(), 32);
  EXPECT_EQ(chunk.now(), 2u);
  chunk.adapt(0, chunk.now(), 0);
  EXPECT_EQ(chunk.now(), 1u);
}

TEST(ChunkSize, StaysBoundedForTasksThatTakeNoTime) {
  ChunkSize chunk(1);
  for (int i = 0; i < 100; ++i) chunk.adapt(0, chunk.now(), SIZE_MAX / 2);
  EXPECT_EQ(chunk.now(), ChunkSize::kAimNs);
  EXPECT_LE(chunk.now(), ChunkSize::kMost);
}

}  // namespace
}  // namespace tabane::team
