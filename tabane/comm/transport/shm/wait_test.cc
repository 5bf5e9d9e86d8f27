#include "tabane/comm/transport/shm/wait.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <time.h>

#include <random>
#include <stdexcept>

#include "tabane/comm/transport/shm/forked_ranks_test.h"

namespace tabane::comm::shm {
namespace {

constexpr int kForever = 60'000;  // ms: a lost wake-up shows as a time-out and not as a delay

struct Flags {
  alignas(64) std::atomic<int> value[2]{};
};

struct Pair {
  explicit Pair(int ranks = 2) : world(plan_memory(ranks, 0), 2) {
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

// Each round one rank stores and wakes while the other one is about to sleep, or sleeps, or looks.
bool ping_pong(Pair& pair, int rank, Patience patience, int rounds) {
  cpu_set_t pu;  // each its own, or else looks and stores hardly ever meet; or any, if there is one
  CPU_ZERO(&pu);
  CPU_SET(rank, &pu);
  sched_setaffinity(0, sizeof pu, &pu);
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

TEST(Wait, LosesNoWakeUpWhereTheKernelHasNoMembarrier) {
  Pair pair;
  fence_before_look = true;
  run_ranks(pair.world,
            [&](int rank) { return ping_pong(pair, rank, {.sleep_ms = kForever}, 20'000); });
  fence_before_look = false;
}

TEST(Wait, LosesNoWakeUpAfterYields) {
  Pair pair;
  run_ranks(pair.world, [&](int rank) {
    return ping_pong(pair, rank, {.spins = 10, .yields = 3, .sleep_ms = kForever}, 20'000);
  });
}

TEST(Wait, WakesASleeperWhomManyWake) {
  constexpr int kRanks = 5, kRounds = 3000;
  Pair pair(kRanks);
  run_ranks(pair.world, [&](int rank) {
    Waiter waiter(pair.world.doorbell(rank), {.sleep_ms = kForever});
    std::atomic<int>&count = pair.flags->value[0], &epoch = pair.flags->value[1];
    std::mt19937 random(static_cast<unsigned>(rank + 1));
    for (int round = 1; round <= kRounds; ++round) {
      if (rank == 0) {
        waiter.wait([&] { return count.load() == round * (kRanks - 1); }, no_check);
        epoch.store(round, std::memory_order_release);
        for (int other = 1; other < kRanks; ++other) wake(pair.world.doorbell(other));
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

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

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

}  // namespace
}  // namespace tabane::comm::shm
