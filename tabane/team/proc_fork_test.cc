#include "tabane/team/proc.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"

namespace tabane::team {
namespace {

TEST(ReadProc, GivesTheWholeFile) {
  const std::string status = read_proc("/proc/self/status");
  EXPECT_TRUE(status.starts_with("Name:"));
  EXPECT_TRUE(status.ends_with("\n"));
}

TEST(ReadProc, ThrowsForAFileThatIsNotThere) {
  EXPECT_THROW(read_proc("/proc/self/no_such_file"), core::SystemError);
  EXPECT_THROW(read_proc("/proc/self"), core::SystemError);  // a folder
}

TEST(TakeWord, SkipsBlanksAndLeavesTheRest) {
  std::string_view text = "  one two";
  EXPECT_EQ(take_word(text), "one");
  EXPECT_EQ(take_word(text), "two");
  EXPECT_EQ(take_word(text), "");
}

TEST(KibField, TakesTheKeyAsAWholeWord) {
  const char* text = "Rss:    10 kB\nPss:   5 kB\nPss_Dirty: 3 kB\nBad: x kB";
  EXPECT_EQ(kib_field(text, "Rss"), 10 * 1024U);
  EXPECT_EQ(kib_field(text, "Pss"), 5 * 1024U);
  EXPECT_EQ(kib_field(text, "Pss_Dirty"), 3 * 1024U);
  EXPECT_EQ(kib_field(text, "Bad"), 0U);
  EXPECT_EQ(kib_field(text, "Swap"), 0U);
}

TEST(RunningThread, IsNamedByIdAndNameWhateverTheNameHolds) {
  EXPECT_EQ(running_thread("17 (worker) S 1 17 1 0 -1 4194368 88 0 0"), "17 (worker)");
  EXPECT_EQ(running_thread("18 (a) b (c) S 1 17 1 0 -1 64 88"), "18 (a) b (c)");
  EXPECT_EQ(running_thread("19 () R 1 17 1 0 -1 0"), "19 ()");
}

TEST(RunningThread, IsNullForOneThatEndsAndForOtherText) {
  EXPECT_FALSE(running_thread("17 (worker) S 1 17 1 0 -1 4194372 88 0 0"));  // 0x400044
  EXPECT_FALSE(running_thread("17 (worker) S 1 17 1 0 -1"));
  EXPECT_FALSE(running_thread("17 worker S 1 17 1 0 -1 64"));
  EXPECT_FALSE(running_thread(""));
}

}  // namespace
}  // namespace tabane::team
