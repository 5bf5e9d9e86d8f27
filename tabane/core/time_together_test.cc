#include "tabane/core/time_together.h"

#include <gtest/gtest.h>
#include <time.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "tabane/core/clock.h"
#include "tabane/core/topology.h"

namespace tabane::core {
namespace {

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
