#include "tabane/comm/transport/shm/world.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdarg>
#include <set>

#include "tabane/comm/transport/shm/forked_ranks_test.h"
#include "tabane/comm/transport/transport.h"
#include "tabane/core/error.h"
#include "tabane/core/text_of_error_test.h"

namespace {

unsigned long tracer = 0;  // that this process has allowed last

}  // namespace

// Stands before the C library's. Without Yama, the kernel refuses the call and keeps nothing that
// could be looked at.
extern "C" int prctl(int option, ...) noexcept {
  std::array<unsigned long, 4> arguments{};
  va_list list;
  va_start(list, option);
  for (unsigned long& argument : arguments) argument = va_arg(list, unsigned long);
  va_end(list);
  if (option == PR_SET_PTRACER) tracer = arguments[0];
  return static_cast<int>(
      syscall(SYS_prctl, option, arguments[0], arguments[1], arguments[2], arguments[3]));
}

namespace tabane::comm::shm {
namespace {

const auto never = [] { return false; };

World small_world(int ranks) { return World(plan_memory(ranks, 0), 2); }

std::string text_of_check(World& world, int self, int peer) {
  return core::text_of_error<core::LostError>([&] { world.check(self, peer, never); });
}

// Waits as a transport does, sleeping for minutes if nobody wakes it.
std::string wait_until_lost(World& world, int self, int peer) {
  Waiter waiter(world.doorbell(self), {.sleep_ms = 600'000});
  return core::text_of_error<core::LostError>(
      [&] { waiter.wait(never, [&] { world.check(self, peer, never); }); });
}

#ifndef TABANE_RANKS_ARE_THREADS
TEST(World, ARankLetsTheLauncherAndItsDescendantsTraceIt) {
  World world = small_world(2);
  const auto launcher = static_cast<unsigned long>(getpid());
  for (const pid_t child : fork_ranks(world, [&](int) { return tracer == launcher; })) {
    EXPECT_EQ(team::wait_for_child(child), 0);
  }
}

TEST(World, AFailureWakesSleepersAndNamesRankPidAndPhase) {
  World world = small_world(4);
  const auto expected = [](pid_t pid) {
    return "process 2 (pid " + std::to_string(pid) +
           ") was lost during ring exchange: killed by signal 9 (Killed)";
  };
  const std::vector<pid_t> children = fork_ranks(world, [&](int rank) {
    if (rank == 2) {
      world.set_phase(rank, "ring exchange");
      raise(SIGKILL);
    }
    const std::string text = wait_until_lost(world, rank, rank == 0 ? 2 : any_source);
    return text == expected(world.pid(2));
  });
  EXPECT_EQ(team::wait_for_child(children[2]), 128 + SIGKILL);
  EXPECT_FALSE(world.failed());
  world.fail(2, children[2], "killed by signal 9 (Killed)");
  for (const int rank : {0, 1, 3}) {
    EXPECT_EQ(team::wait_for_child(children[static_cast<std::size_t>(rank)]), 0);
  }
  EXPECT_EQ(world.state(2), RankState::failed);
  EXPECT_EQ(world.state(1), RankState::returned);
}
#endif

TEST(World, KnowsTheOutermostCallAndTheUsersPhaseBeforeIt) {
  World world = small_world(2);
  world.call(1) = "broadcast";
  {
    const InCall within(world.call(1), "recv");
    EXPECT_EQ(world.phase(1), "broadcast");
  }
  EXPECT_EQ(world.phase(1), "broadcast");
  world.call(1) = nullptr;
  {
    const InCall alone(world.call(1), "recv");
    EXPECT_EQ(world.phase(1), "recv");
    world.set_phase(1, "the sum");
    EXPECT_EQ(world.phase(1), "the sum");
    world.set_phase(1, "");
  }
  EXPECT_EQ(world.phase(1), "");
}

TEST(World, AReturnedPeerWakesWhoWaitsForIt) {
  World world = small_world(3);
  run_ranks(world, [&](int rank) {
    if (rank == 0) return true;
    const std::string text = wait_until_lost(world, rank, rank == 1 ? 0 : any_source);
    return text.find(rank == 1 ? "rank 0 has returned" : "no other rank is left") !=
           std::string::npos;
  });
}

TEST(World, TheFirstFailureCounts) {
  World world = small_world(3);
  world.fail(1, 11, "first");
  world.fail(2, 12, "second");
  world.fail(1, 13, "third");
  EXPECT_EQ(text_of_check(world, 0, 1), "process 1 (pid 11) was lost: first");
  EXPECT_EQ(world.state(2), RankState::failed);
  EXPECT_EQ(text_of_check(world, 1, 0), "");  // it is rank 1 that failed: it may wait on
}

// Ranks that leave because one is lost are not the reason why the others wait in vain.
TEST(World, AFailureGoesBeforeReturns) {
  World world = small_world(3);
  for (int rank = 0; rank < 3; ++rank) world.enter(rank);
  bool failed_meanwhile = false;
  const auto fails_meanwhile = [&] {
    if (!failed_meanwhile) world.fail(1, 11, "killed");
    failed_meanwhile = true;
    return false;
  };
  world.leave(2);
  try {
    world.check(0, 2, fails_meanwhile);
    FAIL();
  } catch (const core::LostError& error) {
    EXPECT_EQ(error.rank(), 1);
  }
}

TEST(World, CutsALongText) {
  World world = small_world(2);
  world.fail(1, 11, std::string(1000, 'x'));
  EXPECT_EQ(text_of_check(world, 0, 1), "process 1 (pid 11) was lost: " + std::string(255, 'x'));
}

TEST(World, CheckLooksOnceMoreAfterAPeerReturned) {
  World world = small_world(2);
  world.enter(1);
  EXPECT_NO_THROW(world.check(0, 1, never));
  world.leave(1);
  int looks = 0;
  EXPECT_NO_THROW(world.check(0, 1, [&] { return ++looks == 1; }));
  EXPECT_EQ(looks, 1);
  EXPECT_THROW(world.check(0, 1, never), core::LostError);
  EXPECT_THROW(world.check(0, any_source, never), core::LostError);
  EXPECT_NO_THROW(world.check(1, 1, never));
}

TEST(World, CheckOfPeersThrowsOnlyWhenAllHaveReturned) {
  World world = small_world(4);
  const int peers[] = {0, 1, 2};
  for (int rank = 0; rank < 4; ++rank) world.enter(rank);
  world.leave(1);
  EXPECT_NO_THROW(world.check(0, peers, never));
  world.leave(2);
  EXPECT_THROW(world.check(0, peers, never), core::LostError);
  EXPECT_NO_THROW(world.check(0, any_source, never));  // rank 3 is there
}

TEST(World, KnowsWhoIsThere) {
  World world = small_world(2);
  EXPECT_EQ(world.state(1), RankState::starting);
  EXPECT_EQ(world.phase(1), "");
  run_ranks(world, [&](int rank) {
    world.set_phase(rank, rank == 0 ? "zero" : "");
    return world.state(rank) == RankState::running && world.pid(rank) == getpid();
  });
  EXPECT_EQ(world.state(0), RankState::returned);
  EXPECT_EQ(world.phase(0), "zero");
  EXPECT_EQ(world.phase(1), "");
}

TEST(World, ChannelsAndGroupsDoNotOverlap) {
  for (const int ranks : {1, 2, 3, 5}) {
    World world = small_world(ranks);
    std::set<const std::byte*> starts;
    const auto add = [&](std::span<std::byte> part) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(part.data()) % kPageBytes, 0u);
      EXPECT_TRUE(starts.insert(part.data()).second);
      for (std::byte& byte : part) {
        EXPECT_EQ(byte, std::byte{});
        byte = std::byte{1};
      }
    };
    for (int from = 0; from < ranks; ++from) {
      for (int to = 0; to < ranks; ++to) {
        if (from != to) add(world.channel(from, to));
      }
    }
    add(world.allocate(world.plan().group_bytes));
    EXPECT_TRUE(world.allocate(1).empty());
    for (int rank = 0; rank < ranks; ++rank) EXPECT_EQ(world.state(rank), RankState::starting);
  }
}

TEST(World, GivesReleasedMemoryAgainAndZero) {
  World world = small_world(2);
  const std::size_t all = world.plan().group_bytes;
  for (const std::size_t bytes : {all, std::size_t{1}, kPageBytes, kPageBytes + 1}) {
    const std::span<std::byte> block = world.allocate(bytes);
    ASSERT_EQ(block.size(), bytes);
    EXPECT_EQ(block.front(), std::byte{});
    EXPECT_EQ(block.back(), std::byte{});
    block.front() = block.back() = std::byte{7};
    EXPECT_EQ(world.block_at(world.offset_of(block), bytes).data(), block.data());
    world.release(block);
  }
  EXPECT_EQ(world.allocate(all).size(), all);
}

TEST(World, RefusesMoreMemoryThanThereIs) {
  World world = small_world(2);
  EXPECT_TRUE(world.allocate(world.plan().group_bytes + 1).empty());
  EXPECT_TRUE(world.allocate(SIZE_MAX).empty());
  EXPECT_TRUE(world.allocate(0).empty());
  world.release({});
}

// Blocks of many sizes, each filled with its rank: who shared a page would see another's number.
TEST(World, AllocatesForManyProcessesAtOnce) {
  World world = small_world(4);
  run_ranks(world, [&](int rank) {
    unsigned random = static_cast<unsigned>(rank) * 7919u + 1;
    for (int round = 0; round < 2000; ++round) {
      random = random * 1664525u + 1013904223u;
      const std::size_t bytes = (random >> 16) % (80 * kPageBytes) + 1;
      const std::span<std::byte> block = world.allocate(bytes);
      for (std::size_t i = 0; i < block.size(); i += kPageBytes) {
        if (block[i] != std::byte{}) return false;
        block[i] = static_cast<std::byte>(rank + 1);
      }
      for (std::size_t i = 0; i < block.size(); i += kPageBytes) {
        if (block[i] != static_cast<std::byte>(rank + 1)) return false;
      }
      world.release(block);
    }
    return true;
  });
  EXPECT_EQ(world.allocate(world.plan().group_bytes).size(), world.plan().group_bytes);
}

TEST(World, HoldsFiveHundredRanks) {
  World world = small_world(512);
  world.channel(511, 510).back() = std::byte{1};
  world.channel(0, 511).front() = std::byte{1};
  EXPECT_FALSE(world.allocate(1 << 20).empty());
  world.fail(511, 1, "gone");
  EXPECT_EQ(world.failed_rank(), 511);
}

}  // namespace
}  // namespace tabane::comm::shm
