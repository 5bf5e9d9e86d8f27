#include "tabane/core/clock.h"

#include <gtest/gtest.h>
#include <time.h>

namespace tabane::core {
namespace {

double raw_seconds() { return clock_seconds(CLOCK_MONOTONIC_RAW); }

TEST(Ticks, NeverRunBackwardsOnOneThread) {
  for (int i = 0; i < 10000; ++i) {
    const std::uint64_t begin = ticks_begin();
    const std::uint64_t end = ticks_end();
    // Counters of different PUs may differ by a little, so a migration must not fail this.
    ASSERT_GE(static_cast<std::int64_t>(end - begin), -1000);
  }
}

TEST(CalibrateTicks, TwoCalibrationsAgree) {
  const TickRate a = calibrate_ticks(0.02);
  const TickRate b = calibrate_ticks(0.02);
  EXPECT_NEAR(a.ticks_per_second / b.ticks_per_second, 1.0, 0.01);
}

TEST(CalibrateTicks, TakesAtLeastTenMilliseconds) {
  const double begin = raw_seconds();
  calibrate_ticks(0);
  EXPECT_GE(raw_seconds() - begin, 0.01);
}

TEST(CalibrateTicks, NamesTheCounterAndBoundsItsError) {
  const TickRate rate = calibrate_ticks(0.01);
  EXPECT_FALSE(rate.counter.empty());
  EXPECT_GT(rate.ticks_per_second, 1e6);
  EXPECT_LT(rate.ticks_per_second, 1e11);
  EXPECT_GE(rate.relative_uncertainty, 0);
  EXPECT_LT(rate.relative_uncertainty, 1);
}

TEST(TickRateChange, IsNoneWhereTheCounterIsInvariant) {
  if (!tick_rate().invariant) GTEST_SKIP() << "the counter may follow the core";
  EXPECT_NEAR(tick_rate_change(), 0, 0.01);
}

TEST(TickRate, IsCalibratedOncePerProcess) { EXPECT_EQ(&tick_rate(), &tick_rate()); }

TEST(TickOverhead, HasAPositiveStep) {
  const TickOverhead overhead = tick_overhead();
  EXPECT_GT(overhead.step_ticks, 0);
  EXPECT_GE(overhead.read_ticks, 0);
}

TEST(TickClock, IsOneObjectWithAPositiveStep) {
  EXPECT_EQ(&tick_clock(), &tick_clock());
  EXPECT_GT(tick_clock().step(), 0);
  EXPECT_LT(tick_clock().step(), 1e-3);
}

TEST(TickClock, RunsAsFastAsTheSystemClock) {
  Clock& clock = tick_clock();
  // Each interval of the one clock encloses an interval of the other.
  const double outer_begin = raw_seconds();
  const double begin = clock.now();
  const double inner_begin = raw_seconds();
  while (raw_seconds() - inner_begin < 0.01) {
  }
  const double inner_end = raw_seconds();
  const double end = clock.now();
  const double outer_end = raw_seconds();
  EXPECT_GE((end - begin) * 1.01, inner_end - inner_begin);
  EXPECT_LE((end - begin) * 0.99, outer_end - outer_begin);
}

TEST(RunningShare, IsNearZeroWhileTheThreadWaits) {
  const RunningShare running;
  const timespec pause{0, 20'000'000};
  nanosleep(&pause, nullptr);
  EXPECT_LT(running.share(), kLeastRunningShare / 2);
}

TEST(RunningShare, IsOneAtMostWhileTheThreadWorks) {
  const RunningShare running;
  volatile unsigned sum = 0;
  for (unsigned i = 0; i < 10'000'000; ++i) sum = sum + i;
  EXPECT_GT(running.share(), 0);
  EXPECT_LE(running.share(), 1.01);
}

}  // namespace
}  // namespace tabane::core
