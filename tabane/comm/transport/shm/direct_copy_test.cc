#include "tabane/comm/transport/shm/direct_copy.h"

#include <gtest/gtest.h>

#include <string>

namespace tabane::comm::shm {
namespace {

constexpr std::size_t kBytes = 64 * 1024;

TEST(WayTimes, DecidesForTheWayThatIsMostlyFaster) {
  for (const Way faster : {Way::blocks, Way::direct}) {
    WayTimes times;
    const Way slower = faster == Way::blocks ? Way::direct : Way::blocks;
    // Twice disturbed, and the slower way once in luck.
    const double of_faster[] = {4e6, 3e3, 4e6, 3e3, 3e3}, of_slower[] = {7e3, 1e3, 7e3, 7e3, 7e3};
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(times.wants(kBytes));
      EXPECT_EQ(times.note(kBytes, faster, of_faster[i]), Way::undecided) << i;
      EXPECT_EQ(times.note(kBytes, slower, of_slower[i]), i < 4 ? Way::undecided : faster) << i;
    }
    EXPECT_FALSE(times.wants(kBytes));
    EXPECT_TRUE(times.wants(4 * kBytes)) << "another class";
  }
}

TEST(WayTimes, WantsNoneOfTheLargest) {
  EXPECT_TRUE(WayTimes().wants(kMostTriedBytes));
  EXPECT_FALSE(WayTimes().wants(kMostTriedBytes + 1));
}

TEST(WayTries, TakeBothInTurnAndThenOneForGood) {
  for (const std::size_t bytes : {kBytes, 4 * kBytes}) {
    WayTries tries;
    std::string ways;
    for (int i = 0; i < 40; ++i) ways += tries.next(bytes) == Way::direct ? 'd' : 'b';
    EXPECT_EQ(ways.substr(0, 4), "bdbd");
    EXPECT_EQ(ways.substr(32), bytes == kBytes ? "bbbbbbbb" : "dddddddd");
  }
}

}  // namespace
}  // namespace tabane::comm::shm
