#include "tabane/lab/campaign/ranks.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tabane::lab {
namespace {

volatile std::sig_atomic_t caught = 0;
void note(int) { caught = caught + 1; }

class BlockInterruptsOf : public testing::TestWithParam<int> {};

TEST_P(BlockInterruptsOf, LetsTheSignalWaitForItsEnd) {
  caught = 0;
  const auto before = std::signal(GetParam(), note);
  {
    const BlockInterrupts outer;
    {
      const BlockInterrupts inner;
      raise(GetParam());
    }
    EXPECT_EQ(caught, 0);
  }
  EXPECT_EQ(caught, 1);
  raise(GetParam());
  EXPECT_EQ(caught, 2);  // nothing waits any more
  std::signal(GetParam(), before);
}

TEST_P(BlockInterruptsOf, KeepsAForkedProcessAlive) {
  int status = 0;
  {
    const BlockInterrupts hold;
    const pid_t child = fork();
    if (child == 0) {
      std::signal(GetParam(), SIG_DFL);
      raise(GetParam());
      _exit(42);
    }
    ASSERT_EQ(waitpid(child, &status, 0), child);
  }
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 42) << status;
}

INSTANTIATE_TEST_SUITE_P(Signals, BlockInterruptsOf, testing::Values(SIGINT, SIGTERM, SIGHUP));

}  // namespace

}  // namespace tabane::lab
