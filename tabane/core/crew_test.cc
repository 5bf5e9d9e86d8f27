#include "tabane/core/crew.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

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

}  // namespace
}  // namespace tabane::core
