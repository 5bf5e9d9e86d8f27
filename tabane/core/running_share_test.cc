#include "tabane/core/running_share.h"

#include <gtest/gtest.h>
#include <time.h>

namespace tabane::core {
namespace {

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
