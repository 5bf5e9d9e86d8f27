#include "tabane/core/threads.h"

#include <gtest/gtest.h>
#include <time.h>

#include <stdexcept>

#include "tabane/core/binding.h"
#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/core/topology.h"

namespace tabane::core {
namespace {

constexpr std::chrono::milliseconds kPeriod(1);

TEST(Crew, HasEachThreadDoItsWorkOnce) {
  std::vector<std::atomic<int>> calls(5);
  run_crew(
      calls.size(), [&](std::size_t thread) { ++calls[thread]; }, kPeriod, [] {});
  for (const auto& each : calls) EXPECT_EQ(each, 1);
}

TEST(Crew, TicksUntilAllHaveEnded) {
  std::atomic<int> ticks = 0;
  const auto until_third = [&](std::size_t) {
    while (ticks < 3) ticks.wait(ticks);
  };
  run_crew(2, until_third, kPeriod, [&] {
    ++ticks;
    ticks.notify_all();
  });
  EXPECT_GE(ticks, 3);
}

TEST(Crew, TellsOfAFailureWhenAllHaveEnded) {
  std::atomic<bool> failed = false;
  std::atomic<int> ended = 0;
  const auto work = [&](std::size_t thread) {
    if (thread == 1) {
      failed = true;
      throw std::runtime_error("thread 1");
    }
    while (!failed) {
    }
    ++ended;
  };
  EXPECT_THROW(run_crew(3, work, kPeriod, [] {}), std::runtime_error);
  EXPECT_EQ(ended, 2);
}

std::vector<unsigned> usable_pus() { return Topology::detect().pu_os_indices(); }

TEST(PinnedPool, RunsTheWorkOnceOnEveryThreadInEveryRound) {
  PinnedPool pool(usable_pus());
  std::vector<int> calls(pool.size(), 0);
  for (int round = 0; round < 100; ++round) pool.run([&](std::size_t i) { ++calls[i]; });
  for (int count : calls) EXPECT_EQ(count, 100);
}

TEST(PinnedPool, BindsEachThreadToItsPu) {
  const std::vector<unsigned> pus = usable_pus();
  PinnedPool pool(pus);
  std::vector<std::vector<unsigned>> bound(pus.size());
  pool.run([&](std::size_t i) { bound[i] = thread_binding(); });
  for (std::size_t i = 0; i < pus.size(); ++i) EXPECT_EQ(bound[i], std::vector<unsigned>{pus[i]});
}

TEST(PinnedPool, RethrowsTheExceptionOfAWorkerAndStaysUsable) {
  PinnedPool pool(usable_pus());
  EXPECT_THROW(pool.run([](std::size_t) { throw std::runtime_error("no"); }), std::runtime_error);
  std::vector<int> done(pool.size(), 0);
  pool.run([&](std::size_t i) { done[i] = 1; });
  EXPECT_EQ(done, std::vector<int>(pool.size(), 1));
}

TEST(PinnedPool, RefusesAPuThatDoesNotExist) {
  const std::vector<unsigned> pus = {60000};
  EXPECT_THROW(PinnedPool pool(pus), SystemError);
}

void pause_ms(long ms) {
  const timespec pause{0, ms * 1'000'000};
  nanosleep(&pause, nullptr);
}

std::vector<unsigned> all_pus() { return Topology::detect().pu_os_indices(); }

TEST(TimeTogether, RunsTheFirstWorkersOnlyAndAllOfThem) {
  PinnedPool pool(all_pus());
  for (std::size_t workers = 1; workers <= pool.size(); ++workers) {
    std::vector<std::atomic<int>> calls(pool.size());
    time_together(pool, workers, [&](std::size_t i) { ++calls[i]; });
    for (std::size_t i = 0; i < pool.size(); ++i) EXPECT_EQ(calls[i], i < workers ? 1 : 0);
  }
}

TEST(TimeTogether, LastsFromTheFirstStartToTheLastEnd) {
  PinnedPool pool(all_pus());
  const TogetherTime time =
      time_together(pool, pool.size(), [&](std::size_t i) { pause_ms(i == 0 ? 10 : 1); });
  EXPECT_GE(time.seconds, 0.0099);
}

TEST(TimeTogether, NoticesAThreadThatDidNotRun) {
  PinnedPool pool(all_pus());
  const TogetherTime time = time_together(pool, pool.size(), [](std::size_t i) {
    if (i == 0) pause_ms(10);
  });
  EXPECT_LT(time.running_share, 0.5);
  EXPECT_EQ(signed_seconds(time), -time.seconds);
}

TEST(TimeOf, ReachesFromTheFirstBeginToTheLastEnd) {
  const std::vector<ThreadTime> threads = {{10.0, 12.0, 1}, {10.1, 13.0, 0.98}};
  EXPECT_DOUBLE_EQ(time_of(threads).seconds, 3.0);
  EXPECT_NEAR(time_of(threads).running_share, 1 - 0.1 / 3, 1e-12);
}

// Both ran all the time once they had begun, but one had to wait for its CPU.
TEST(TimeOf, NoticesAThreadThatBeganLate) {
  const std::vector<ThreadTime> threads = {{10.0, 11.0, 1}, {13.0, 14.0, 1}};
  EXPECT_DOUBLE_EQ(time_of(threads).running_share, 0.25);
  EXPECT_LT(signed_seconds(time_of(threads)), 0);
}

TEST(TimeTogether, LeavesTheWakingOfThePoolOut) {
  PinnedPool pool(all_pus());
  Clock& clock = tick_clock();
  const double begin = clock.now();
  const TogetherTime time = time_together(pool, 1, [](std::size_t) {});
  EXPECT_LT(time.seconds, clock.now() - begin);
}

TEST(TimeTogether, PassesOnWhatTheWorkThrows) {
  PinnedPool pool(all_pus());
  EXPECT_THROW(time_together(pool, 1, [](std::size_t) { throw std::runtime_error("no"); }),
               std::runtime_error);
}

TEST(SignedSeconds, AreNegativeOnlyIfAThreadDidNotRun) {
  EXPECT_EQ(signed_seconds({.seconds = 2, .running_share = 0.97}), 2);
}

}  // namespace
}  // namespace tabane::core
