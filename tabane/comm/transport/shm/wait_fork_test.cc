#include "tabane/comm/transport/shm/wait.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <random>
#include <stdexcept>

#include "tabane/comm/transport/shm/forked_ranks_test.h"
#include "tabane/comm/transport/shm/spin_test.h"
#include "tabane/core/clock.h"

namespace tabane::comm::shm {
namespace {

constexpr int kForever = 60'000;  // ms: a lost wake-up shows as a time-out and not as a delay

struct Flags {
  alignas(64) std::atomic<int> value[2]{};
  struct alignas(64) Line {
    int value = 0;
  };
  std::array<Line, 8> message{};
};

struct Pair {
  explicit Pair(int ranks = 2, int pus = 2) : world(plan_memory(ranks, 0), pus) {
    flags = new (world.allocate(sizeof(Flags)).data()) Flags;
  }
  World world;
  Flags* flags;
};

const auto no_check = [] {};

void delay(std::mt19937& random, int most) {
  for (int left = static_cast<int>(random() % static_cast<unsigned>(most)); left > 0; --left) {
    Waiter::pause();
  }
}

// Each rank to its own, or else looks and stores hardly ever meet; to any, if there is one.
void bind_to_own_pu(int rank) {
  cpu_set_t all, own;
  sched_getaffinity(0, sizeof all, &all);
  if (rank >= CPU_COUNT(&all)) return;
  int pu = 0;
  for (int left = rank; !CPU_ISSET(pu, &all) || left-- > 0;) ++pu;
  CPU_ZERO(&own);
  CPU_SET(pu, &own);
  sched_setaffinity(0, sizeof own, &own);
}

// Each round one rank stores and wakes while the other one is about to sleep, or sleeps, or looks.
bool ping_pong(Pair& pair, int rank, Patience patience, int rounds) {
  bind_to_own_pu(rank);
  Waiter waiter(pair.world.doorbell(rank), patience);
  std::mt19937 random(static_cast<unsigned>(rank + 1));
  std::atomic<int>& own = pair.flags->value[rank];
  std::atomic<int>& other = pair.flags->value[1 - rank];
  for (int round = 1; round <= rounds; ++round) {
    if (rank == 0) {
      delay(random, 2000);
      own.store(round, std::memory_order_release);
      wake(pair.world.doorbell(1));
    }
    waiter.wait([&] { return other.load(std::memory_order_acquire) == round; }, no_check);
    if (rank == 1) {
      delay(random, 2000);
      own.store(round, std::memory_order_release);
      wake(pair.world.doorbell(0));
    }
  }
  return waiter.time_outs() == 0;
}

TEST(Wait, LosesNoWakeUpAroundSleep) {
  Pair pair;
  run_ranks(pair.world,
            [&](int rank) { return ping_pong(pair, rank, {.sleep_ms = kForever}, 20'000); });
}

TEST(Wait, LosesNoWakeUpWhereWritersFence) {
  Pair pair(2, 1);
  ASSERT_TRUE(pair.world.doorbell(0).writers_fence);
  run_ranks(pair.world,
            [&](int rank) { return ping_pong(pair, rank, {.sleep_ms = kForever}, 20'000); });
}

// Rank 0 spins, so that its store meets the last look of rank 1 within nanoseconds: that is when
// each may miss the other where a fence is missing. Its store waits behind those to lines that the
// other has written, as the one that ends a message does.
bool store_before_sleep(Pair& pair, int rank, int rounds) {
  bind_to_own_pu(rank);
  Waiter waiter(pair.world.doorbell(rank), {.sleep_ms = kForever});
  std::mt19937 random(static_cast<unsigned>(rank + 1));
  std::atomic<int>& own = pair.flags->value[rank];
  std::atomic<int>& other = pair.flags->value[1 - rank];
  const auto has_come = [&](int round) { return other.load(std::memory_order_acquire) == round; };
  for (int round = 1; round <= rounds; ++round) {
    if (rank == 0) {
      spin_until([&] { return has_come(round); });
      linger(static_cast<unsigned>(random() % 1000));
    }
    for (Flags::Line& line : pair.flags->message) line.value = round;
    own.store(round, std::memory_order_release);
    if (rank == 0) wake(pair.world.doorbell(1));
    if (rank == 1) {
      linger(static_cast<unsigned>(random() % 1000));
      waiter.wait([&] { return has_come(round); }, no_check);
    }
  }
  return waiter.time_outs() == 0;
}

TEST(Wait, LosesNoWakeUpRightBeforeSleep) {
  for (const int pus : {2, 1}) {  // with membarrier; with fences of the writers
    Pair pair(2, pus);
    run_ranks(pair.world, [&](int rank) { return store_before_sleep(pair, rank, 300); });
  }
}

TEST(Wait, WritersFenceOnlyWhereRanksExceedPus) {
  const bool has_membarrier = prepare_waiting();
  EXPECT_EQ(World(plan_memory(2, 0), 2).doorbell(1).writers_fence, !has_membarrier);
  EXPECT_TRUE(World(plan_memory(3, 0), 2).doorbell(2).writers_fence);
}

TEST(Wait, LosesNoWakeUpAfterYields) {
  Pair pair;
  run_ranks(pair.world, [&](int rank) {
    return ping_pong(pair, rank, {.spins = 10, .yields = 3, .sleep_ms = kForever}, 20'000);
  });
}

// All ranks but 0 wake rank 0, which wakes them all. With few PUs some are stopped anywhere.
void wake_each_other(int ranks, int pus, int rounds) {
  Pair pair(ranks, pus);
  run_ranks(pair.world, [&](int rank) {
    Waiter waiter(pair.world.doorbell(rank), {.sleep_ms = kForever});
    std::atomic<int>&count = pair.flags->value[0], &epoch = pair.flags->value[1];
    std::mt19937 random(static_cast<unsigned>(rank + 1));
    for (int round = 1; round <= rounds; ++round) {
      if (rank == 0) {
        waiter.wait([&] { return count.load() == round * (ranks - 1); }, no_check);
        epoch.store(round, std::memory_order_release);
        for (int other = 1; other < ranks; ++other) wake(pair.world.doorbell(other));
      } else {
        delay(random, 500);
        count.fetch_add(1);
        wake(pair.world.doorbell(0));
        waiter.wait([&] { return epoch.load() == round; }, no_check);
      }
    }
    return waiter.time_outs() == 0;
  });
}

TEST(Wait, WakesASleeperWhomManyWake) { wake_each_other(5, 5, 3000); }
TEST(Wait, WakesASleeperWhomManyWakeWhereWritersFence) { wake_each_other(8, 2, 3000); }

// What another rank may do at the worst moments: right after each look, and right after each check.
TEST(Wait, SeesAStoreAfterAnyLookOrCheck) {
  prepare_waiting();
  for (int worst = 1; worst <= 12; ++worst) {
    Doorbell doorbell;
    Waiter waiter(doorbell, {.spins = 2, .yields = 2, .sleep_ms = 100});
    bool stored = false;
    int moments = 0;
    const auto pass = [&] {
      if (++moments != worst) return;
      stored = true;
      wake(doorbell);
    };
    const auto ready = [&] {
      const bool seen = stored;
      pass();
      return seen;
    };
    waiter.wait(ready, pass);
    EXPECT_EQ(waiter.time_outs(), worst <= 9 ? 0u : 1u) << worst;
  }
}

TEST(Wait, ReturnsAtOnceIfReady) {
  Doorbell doorbell;
  for (const Patience patience : {Patience{}, Patience{.spins = 5}, Patience{.yields = 5}}) {
    int looks = 0;
    Waiter(doorbell, patience).wait([&] { return ++looks > 0; }, [] { FAIL(); });
    EXPECT_EQ(looks, 1);
  }
}

TEST(Wait, ChecksAgainAndAgainWhileItSleeps) {
  prepare_waiting();
  Doorbell doorbell;
  Waiter waiter(doorbell, {.sleep_ms = 1});
  int checks = 0;
  waiter.wait([&] { return checks == 5; }, [&] { ++checks; });
  EXPECT_EQ(waiter.time_outs(), 5u);
}

TEST(Wait, PassesOnWhatACheckThrows) {
  Doorbell doorbell;
  Waiter waiter(doorbell, {.yields = 2, .sleep_ms = 1});
  int left = 6;
  const auto check = [&] {
    if (--left == 0) throw std::runtime_error("gone");
  };
  EXPECT_THROW(waiter.wait([] { return false; }, check), std::runtime_error);
  wake(doorbell);  // and whoever wakes it later finds nothing wrong
  waiter.wait([] { return true; }, check);
}

TEST(Wait, KeepsTheStateOfWhatItCalls) {
  Doorbell doorbell;
  int calls = 0;
  struct Ready {
    int own = 0;
    int* calls;
    bool operator()() { return ++*calls == ++own && own == 7; }
  };
  Waiter(doorbell, {.spins = 2, .yields = 2, .sleep_ms = 1}).wait(Ready{0, &calls}, no_check);
  EXPECT_EQ(calls, 7);
}

double cpu_seconds(clockid_t clock = CLOCK_PROCESS_CPUTIME_ID) {
  return core::clock_seconds(clock);
}

#ifndef TABANE_RANKS_ARE_THREADS
double cpu_seconds_of(pid_t pid) {
  clockid_t clock{};
  clock_getcpuclockid(pid, &clock);
  return cpu_seconds(clock);
}

// A token goes from rank to rank of one PU. Whoever yields there gives the program that computes a
// whole slice, a thousand times as long as the token stays with a rank.
TEST(Wait, RanksGetTheirShareOfAPuBesideAProgramThatComputes) {
  constexpr int kRanks = 4, kEnd = -1;
  Pair pair(kRanks, 1);
  const pid_t busy = team::fork_child([] {
    bind_to_own_pu(0);
    for (;;) Waiter::pause();
    return 0;
  });
  std::atomic<int>&token = pair.flags->value[0], &enough = pair.flags->value[1];
  const std::vector<pid_t> ranks = fork_ranks(pair.world, [&](int rank) {
    bind_to_own_pu(0);
    Waiter waiter = pair.world.waiter(rank);
    Doorbell& next = pair.world.doorbell((rank + 1) % kRanks);
    int now = 0;
    while (now != kEnd) {
      waiter.wait([&] { return (now = token.load()) == kEnd || now % kRanks == rank; }, no_check);
      if (now == kEnd) continue;
      token.store(enough.load() != 0 ? kEnd : (now + 1) % kRanks);
      wake(next);
    }
    wake(next);
    return true;
  });
  double busy_seconds = 0, rank_seconds = 0;
  while (busy_seconds + rank_seconds < 0.5) {
    usleep(10'000);
    busy_seconds = cpu_seconds_of(busy);
    rank_seconds = 0;
    for (const pid_t rank : ranks) rank_seconds += cpu_seconds_of(rank);
  }
  kill(busy, SIGKILL);
  enough.store(1);
  for (const pid_t rank : ranks) EXPECT_EQ(team::wait_for_child(rank), 0);
  team::wait_for_child(busy);
  EXPECT_GT(rank_seconds, 0.15 * busy_seconds);
}
#endif

TEST(Wait, AnIdleRankUsesLessThanAHundredthOfAPu) {
  prepare_waiting();
  Doorbell doorbell;
  for (const int ranks : {2, 16}) {
    Waiter waiter(doorbell, patience_for(ranks, 2));
    double begin = cpu_seconds();
    // 20 full sleeps: at least a second, for time-outs are never early.
    waiter.wait([&] { return waiter.time_outs() == 2; }, no_check);
    begin = cpu_seconds();
    waiter.wait([&] { return waiter.time_outs() == 22; }, no_check);
    EXPECT_LT(cpu_seconds() - begin, 0.01) << ranks << " ranks";
  }
}

TEST(Patience, SpinsOnlyWhereEachRankHasAPu) {
  EXPECT_GT(patience_for(1, 1).spins, 0);
  EXPECT_GT(patience_for(2, 2).spins, 0);
  EXPECT_EQ(patience_for(3, 2).spins, 0);
  EXPECT_EQ(patience_for(2, 1).spins, 0);
  EXPECT_GT(patience_for(3, 2).yields, 0);
}

constexpr std::uint64_t kSlice = 4'000'000;

// Yields that are slow, with so much time from one to the next. Returns when the last one ended.
std::uint64_t note_slices(YieldCosts& costs, std::uint64_t begin, int slices,
                          std::uint64_t between) {
  for (int i = 0; i < slices; ++i) {
    costs.note(begin, begin + kSlice);
    begin += kSlice + between;
  }
  return begin - between;
}

TEST(YieldCosts, QuickOrRareSlowYieldsPay) {
  YieldCosts costs;
  for (std::uint64_t now = 1; now < 100'000'000; now += 2'000) costs.note(now, now + 2'000);
  EXPECT_TRUE(costs.pays(100'000'000));
  const std::uint64_t end = note_slices(costs, 100'000'000, 100, kSlice);
  EXPECT_TRUE(costs.pays(end));
}

TEST(YieldCosts, SlowYieldsInARowDoNotPayForLongerAndLonger) {
  YieldCosts costs;
  std::uint64_t end = note_slices(costs, 1'000'000'000, 1 + YieldCosts::kInARow, 1000);
  std::uint64_t rest = YieldCosts::kRestNs;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(costs.pays(end + rest - 1)) << i;
    EXPECT_TRUE(costs.pays(end + rest)) << i;
    end = note_slices(costs, end + rest, 1, 0);
    rest *= 2;
  }
  for (int i = 0; i < 10; ++i) end = note_slices(costs, end + rest, 1, 0), rest *= 2;
  EXPECT_TRUE(costs.pays(end + rest));
}

TEST(YieldCosts, OneSliceThatSeveralRanksNoteCountsOnce) {
  YieldCosts costs;
  const std::uint64_t begin = note_slices(costs, 1'000'000'000, 2, 1000) + 1000;
  for (std::uint64_t rank = 0; rank < 8; ++rank) costs.note(begin - rank, begin + kSlice - rank);
  EXPECT_TRUE(costs.pays(begin + kSlice));
}

}  // namespace
}  // namespace tabane::comm::shm
