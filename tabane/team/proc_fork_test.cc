#include "tabane/team/proc.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

#include "tabane/core/memory.h"
#include "tabane/core/units.h"
#include "tabane/team/fork.h"

namespace tabane::team {
namespace {

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

using core::kMiB;

TEST(SharedMemory, IsNothingForNoProcessAndForProcessesThatAreGone) {
  EXPECT_EQ(shared_memory({}).resident, 0U);
  EXPECT_EQ(shared_memory({}).shared_share(), 0);
  const pid_t gone = fork_child([] { return 0; });
  wait_for_child(gone);
  EXPECT_EQ(shared_memory(std::vector{gone}).resident, 0U);
}

TEST(SharedMemory, SharesAreOneMinusPrivateOverResident) {
  SharedMemory memory;
  memory.resident = 1000;
  memory.private_ = 40;
  EXPECT_DOUBLE_EQ(memory.shared_share(), 0.96);
}

TEST(SharedMemory, OfACallerAndAChildThatOnlyReadsIsSharedMostly) {
  core::Region region(64 * kMiB);
  region.touch();
  const pid_t child = fork_child([] {
    pause();
    return 0;
  });
  const SharedMemory both = shared_memory(std::vector{getpid(), child});
  kill(child, SIGKILL);
  wait_for_child(child);
  EXPECT_GE(both.resident, 2 * region.size());
  EXPECT_LE(both.private_, both.proportional);
  EXPECT_LE(both.proportional, both.resident);
  EXPECT_LT(both.private_, region.size());
  EXPECT_GT(both.shared_share(), 0.5);
}

TEST(SharedMemory, OfOneProcessAloneCountsItsOwnPagesAsPrivate) {
  const core::Region untouched(32 * kMiB);
  const SharedMemory before = shared_memory(std::vector{getpid()});
  core::Region region(32 * kMiB);
  region.touch();
  const SharedMemory after = shared_memory(std::vector{getpid()});
  EXPECT_GE(after.private_, before.private_ + 31 * kMiB);
}

TEST(OtherThreads, AreNoneWhenTheCallerIsAlone) { EXPECT_TRUE(other_threads().empty()); }

TEST(OtherThreads, AreNamedByIdAndName) {
  std::promise<void> named, end;
  std::atomic<pid_t> id{0};
  std::thread thread([&] {
    pthread_setname_np(pthread_self(), "odd ) name (x");
    id = gettid();
    named.set_value();
    end.get_future().wait();
  });
  named.get_future().wait();
  const std::vector<std::string> names = other_threads();
  end.set_value();
  thread.join();
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names.front(), std::to_string(id) + " (odd ) name (x)");
}

TEST(OtherThreads, DoNotCountTheCallerWhereverItRuns) {
  std::vector<std::string> names;
  pid_t id = 0;
  std::thread([&] {
    id = gettid();
    names = other_threads();
  }).join();
  ASSERT_FALSE(names.empty());
  EXPECT_TRUE(names.front().starts_with(std::to_string(getpid()) + " ("));
  EXPECT_TRUE(std::none_of(names.begin(), names.end(), [&](const std::string& name) {
    return name.starts_with(std::to_string(id));
  }));
}

TEST(OtherThreads, DoNotCountThreadsThatWereJoined) {
  for (int i = 0; i < 300; ++i) {
    std::thread([] {}).join();
    ASSERT_TRUE(other_threads().empty()) << "round " << i;
  }
}

}  // namespace
}  // namespace tabane::team
