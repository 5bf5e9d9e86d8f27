#include "tabane/core/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace tabane::core {
namespace {

TEST(SystemErrorText, NamesOperandCallAndReason) {
  const SystemError error("mbind", "node 3", EINVAL);
  EXPECT_STREQ(error.what(), "node 3: mbind: Invalid argument");
  EXPECT_EQ(error.code(), EINVAL);
}

TEST(SystemErrorText, SaysWhatCannotBeReadAtAnOffset) {
  const std::string text = SystemError("read", "a/fifo", ESPIPE).what();
  EXPECT_TRUE(text.starts_with("a/fifo: read: Not a regular file")) << text;
}

TEST(SystemErrorText, LeavesOutAnEmptyOperand) {
  EXPECT_STREQ(SystemError("fork", "", ENOMEM).what(), "fork: Cannot allocate memory");
}

TEST(LostErrorText, NamesRankPidAndPhase) {
  const LostError error(3, 4711, "task 17", "killed by signal 9");
  EXPECT_STREQ(error.what(), "process 3 (pid 4711) was lost during task 17: killed by signal 9");
  EXPECT_EQ(error.rank(), 3);
  EXPECT_STREQ(LostError(3, 4711, "", "killed").what(), "process 3 (pid 4711) was lost: killed");
}

TEST(VerificationErrorText, ShowsResidualAndTolerance) {
  EXPECT_STREQ(VerificationError("dot", 2e-9, 1e-12).what(),
               "dot: verification failed, residual 2e-09 is over the tolerance 1e-12");
}

TEST(AssertDeath, NamesTheConditionThatDoesNotHold) {
  EXPECT_DEATH(TABANE_ASSERT(1 + 1 == 3), "1 \\+ 1 == 3 does not hold");
}

}  // namespace
}  // namespace tabane::core
