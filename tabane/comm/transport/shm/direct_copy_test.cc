#include "tabane/comm/transport/shm/direct_copy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "tabane/comm/transport/shm/spin_test.h"

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

// Returns what is decided if direct copies take `part` of the time through blocks.
Way decide(WayTimes& times, double part) {
  Way way = Way::undecided;
  for (int i = 0; i < 5; ++i) {
    times.note(kBytes, Way::blocks, 8e3);
    way = times.note(kBytes, Way::direct, part * 8e3);
  }
  return way;
}

TEST(WayTimes, PrefersBlocksWhereTheSenderWouldPayForADirectCopy) {
  WayTimes times;
  EXPECT_EQ(decide(times, 0.9), Way::blocks);
  EXPECT_EQ(decide(times, 0.6), Way::direct);
}

TEST(WayTimes, DecidesAnewAfterMoreAndMoreMessages) {
  WayTimes times;
  int last = 0;
  for (const Way way : {Way::direct, Way::blocks, Way::direct}) {
    EXPECT_EQ(decide(times, way == Way::direct ? 0.5 : 2), way);
    int messages = 1;
    while (!times.begins_anew(kBytes)) {
      ++messages;
      ASSERT_FALSE(times.wants(kBytes));
      ASSERT_LT(messages, 10'000);
    }
    EXPECT_TRUE(times.wants(kBytes));
    EXPECT_GT(messages, last);
    last = messages;
  }
}

TEST(WayTimes, WantsNoneOfTheLargest) {
  EXPECT_TRUE(WayTimes().wants(kMostTriedBytes));
  EXPECT_FALSE(WayTimes().wants(kMostTriedBytes + 1));
}

TEST(WayTries, TakeBothInTurnAndThenOneUntilTold) {
  for (const std::size_t bytes : {kBytes, 4 * kBytes}) {
    WayTries tries;
    std::string ways;
    const auto next = [&](Way told) { return tries.next(bytes, told) == Way::direct ? 'd' : 'b'; };
    for (int i = 0; i < 40; ++i) ways += next(Way::undecided);
    EXPECT_EQ(ways.substr(0, 4), "bdbd");
    EXPECT_EQ(ways.substr(32), bytes == kBytes ? "bbbbbbbb" : "dddddddd");
    EXPECT_EQ(next(Way::direct), 'd');
    EXPECT_EQ(next(Way::blocks), 'b');
    EXPECT_EQ(next(Way::undecided), 'b') << "tries both again";
    EXPECT_EQ(next(Way::undecided), 'd');
    for (int i = 0; i < 40; ++i) next(Way::undecided);
    EXPECT_EQ(next(Way::undecided), 'b') << "the last decision holds";
  }
}

// A receiver begins to copy all by itself while the sender withdraws: whatever the sender writes
// once that has failed does not come. Every eighth round it has failed before the receiver begins.
TEST(DirectCopy, ReadsNothingOnceItWasWithdrawn) {
  constexpr int kRounds = 300;
  DirectCopy copy;
  int from = 0, to = 0, wrong = 0, failed = 0;
  std::atomic<int> withdrawn{0}, ended{0};
  if (!can_copy_directly(getpid(), &from)) GTEST_SKIP() << "no direct copies here";
  std::thread receiving([&] {
    for (int round = 1; round <= kRounds; ++round) {
      spin_until([&] { return copy.open.load(std::memory_order_acquire) == 1; });
      const auto is_late = [&] { return withdrawn.load(std::memory_order_relaxed) == round; };
      if (round % 8 == 0) spin_until(is_late);
      const bool good = copy_alone(copy);
      wrong += good && to != -round;
      wrong += to == round;
      copy.open.store(0, std::memory_order_relaxed);
      ended.store(round);
    }
  });
  for (int round = 1; round <= kRounds; ++round) {
    from = -round;
    copy.sender = getpid();
    copy.bytes = sizeof from;
    copy.from = reinterpret_cast<const std::byte*>(&from);
    copy.to = reinterpret_cast<std::byte*>(&to);
    begin(copy);
    linger(static_cast<unsigned>(round) * 97 % 3001);
    withdraw(copy);
    const bool has = has_failed(copy);
    if (has) std::atomic_ref(from).store(round, std::memory_order_relaxed);
    withdrawn.store(round, std::memory_order_relaxed);
    failed += has;
    spin_until([&] { return ended.load() == round; });
  }
  receiving.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(failed, kRounds / 8);
}

}  // namespace
}  // namespace tabane::comm::shm
