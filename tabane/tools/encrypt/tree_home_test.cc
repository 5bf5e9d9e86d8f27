#include "tabane/tools/encrypt/tree_home.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>

#include "tabane/core/error.h"
#include "tabane/core/files_test.h"
#include "tabane/core/output_file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {
namespace {

namespace fs = std::filesystem;

constexpr LockedTree kSealed = LockedTree::sealed, kPlain = LockedTree::plain;

class Lock : public testing::Test {
 protected:
  // What is in the directory.
  std::set<std::string> names() const { return core::names_in(path); }
  bool is_free(LockedTree tree) const { return JobLock(directory.get(), tree, "here").holds(); }

  const core::ScratchFolder folder{"tabane-test"};
  const fs::path path = folder.path(), lock_file = path / ".tabane/lock";
  const core::Descriptor directory = core::open_directory(path);
};

TEST_F(Lock, IsHeldByOneAtATimeAndLeavesNothing) {
  for (const LockedTree tree : {kSealed, kPlain}) {
    {
      const JobLock first(directory.get(), tree, "here");
      EXPECT_TRUE(first.holds());
      EXPECT_EQ(JobLock::is_held(directory.get()), tree == kSealed);
      const std::set<std::string> before = names();
      EXPECT_THROW(JobLock(directory.get(), kSealed, "here"), core::UsageError);
      EXPECT_THROW(JobLock(directory.get(), kPlain, "here"), core::UsageError);
      EXPECT_EQ(names(), before);
      if (tree == kSealed) {
        EXPECT_THROW(JobLock::require_free(directory.get(), "here"), core::UsageError);
      }
      EXPECT_EQ(core::remove_leftovers(directory.get()), 0u);
    }
    EXPECT_TRUE(names().empty());
    JobLock::require_free(directory.get(), "here");
    EXPECT_TRUE(is_free(tree));
  }
}

TEST_F(Lock, OfAPlainTreeIsATemporaryFileThatOnlyItsOwnerCanOpen) {
  const JobLock lock(directory.get(), kPlain, "here");
  ASSERT_EQ(names().size(), 1u);
  const std::string name = *names().begin();
  const auto mode = static_cast<mode_t>(fs::status(path / name).permissions());
  EXPECT_TRUE(core::is_leftover(name, S_IFREG | mode));
  EXPECT_EQ(mode & 077, 0u);
}

// Whoever can read a directory can lock it, and a user may do so around a whole command.
TEST_F(Lock, IsNotHeldByALockOfTheDirectory) {
  const core::Descriptor other = core::open_directory(path);
  ASSERT_EQ(flock(other.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_FALSE(JobLock::is_held(directory.get()));
  EXPECT_TRUE(is_free(kSealed));
  EXPECT_TRUE(is_free(kPlain));
}

TEST_F(Lock, OfAPlainTreeIsNoOtherTemporaryFile) {
  const core::TemporaryFile of_a_single_file(directory.get(), "out", 0600);
  EXPECT_TRUE(is_free(kPlain));
}

TEST_F(Lock, OfAPlainTreeIsALeftoverOfAKilledJob) {
  const fs::path left = path / ".tabane-0123456789abcdef.part";
  {
    const JobLock lock(directory.get(), kPlain, "here");
    fs::copy_file(path / *names().begin(), left);
  }
  fs::permissions(left, fs::perms{01600});
  EXPECT_TRUE(is_free(kPlain));
  EXPECT_EQ(core::remove_leftovers(directory.get()), 1u);
}

TEST_F(Lock, OfASealedTreeIsAFileInItsOwnDirectoryThatOnlyItsOwnerCanOpen) {
  const JobLock lock(directory.get(), kSealed, "here");
  EXPECT_EQ(names(), std::set<std::string>{".tabane"});
  EXPECT_EQ(fs::status(lock_file).permissions(), fs::perms{0600});
}

TEST_F(Lock, IsNotThatOfAFileThatOthersCanOpen) {
  fs::create_directory(path / ".tabane");
  core::replace_file(lock_file, "", fs::perms{0644});
  const core::Descriptor planted(open(lock_file.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(flock(planted.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_FALSE(is_free(kSealed));
  EXPECT_FALSE(JobLock::is_held(directory.get()));
  EXPECT_TRUE(fs::exists(lock_file));
}

TEST_F(Lock, IsTakenOverFromAKilledJob) {
  fs::create_directory(path / ".tabane");
  core::replace_file(lock_file, "", fs::perms{0600});
  EXPECT_TRUE(is_free(kSealed));
  EXPECT_EQ(names(), std::set<std::string>{});
}

// The alarm comes while the lock waits, however late this process gets its turns.
TEST_F(Lock, WaitsForAMomentForWhoOnlyLooks) {
  fs::create_directory(path / ".tabane");
  core::replace_file(lock_file, "", fs::perms{0600});
  static int looks = -1;
  looks = open(lock_file.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(looks, LOCK_SH | LOCK_NB), 0);
  const auto before = signal(SIGALRM, [](int) { close(looks); });
  const itimerval soon{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 1000}};
  ASSERT_EQ(setitimer(ITIMER_REAL, &soon, nullptr), 0);
  EXPECT_TRUE(is_free(kSealed));
  signal(SIGALRM, before);
}

TEST_F(Lock, IsTakenOrRefusedWhileOthersEnd) {
  std::atomic<int> without = 0;
  const auto take_often = [&] {
    for (int i = 0; i < 300; ++i) {
      try {
        if (!is_free(kSealed)) ++without;
      } catch (const core::UsageError&) {  // the other has it
      }
    }
  };
  std::thread other(take_often);
  take_often();
  other.join();
  EXPECT_EQ(without, 0);
  EXPECT_TRUE(names().empty());
}

TEST_F(Lock, RemovesNoOtherFileThanItsOwn) {
  std::optional<JobLock> lock(std::in_place, directory.get(), kSealed, "here");
  core::replace_file(lock_file, "another's", fs::perms{0600});
  lock.reset();
  EXPECT_EQ(core::read_file(lock_file), "another's");
}

}  // namespace
}  // namespace tabane::encrypt
