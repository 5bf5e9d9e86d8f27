#include "tabane/workloads/aes_dir/job_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <set>

#include "tabane/core/error.h"
#include "tabane/core/files_test.h"
#include "tabane/core/scratch_folder.h"
#include "tabane/workloads/aes_dir/output_file.h"

namespace tabane::workloads::aes_dir {
namespace {

namespace fs = std::filesystem;

class Lock : public testing::Test {
 protected:
  // What is in the directory.
  std::set<std::string> names() const { return core::names_in(path); }

  const core::ScratchFolder folder{"tabane-test"};
  const fs::path path = folder.path();
  const core::Descriptor directory = core::open_directory(path);
};

TEST_F(Lock, IsHeldByOneAtATimeAndLeavesNothing) {
  {
    const JobLock first(directory.get(), "here");
    EXPECT_TRUE(first.holds());
    EXPECT_THROW(JobLock(directory.get(), "here"), core::UsageError);
    EXPECT_THROW(JobLock::require_free(directory.get(), "here"), core::UsageError);
    EXPECT_EQ(remove_leftovers(directory.get()), 0u);
  }
  EXPECT_TRUE(names().empty());
  JobLock::require_free(directory.get(), "here");
  EXPECT_TRUE(JobLock(directory.get(), "here").holds());
}

// Whoever can read a directory can lock it.
TEST_F(Lock, IsNotHeldByALockOfTheDirectory) {
  const core::Descriptor other = core::open_directory(path);
  ASSERT_EQ(flock(other.get(), LOCK_EX | LOCK_NB), 0);
  JobLock::require_free(directory.get(), "here");
  EXPECT_TRUE(JobLock(directory.get(), "here").holds());
}

TEST_F(Lock, IsAFileThatOnlyItsOwnerCanOpenAndALeftoverIfTheJobIsKilled) {
  const JobLock lock(directory.get(), "here");
  ASSERT_EQ(names().size(), 1u);
  EXPECT_TRUE(core::is_temporary_name(*names().begin()));
  EXPECT_EQ(fs::status(path / *names().begin()).permissions(), fs::perms{0600});
}

TEST_F(Lock, IsNotThatOfAFileThatOthersCanOpen) {
  std::string name;
  {
    const JobLock lock(directory.get(), "here");
    name = *names().begin();
  }
  const core::Descriptor planted(openat(directory.get(), name.c_str(), O_CREAT | O_RDWR, 0644));
  ASSERT_EQ(fchmod(planted.get(), 0644), 0);
  ASSERT_EQ(flock(planted.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_FALSE(JobLock(directory.get(), "here").holds());
  JobLock::require_free(directory.get(), "here");
  EXPECT_EQ(names().size(), 1u);
}

TEST_F(Lock, IsTakenOverFromAKilledJob) {
  std::optional<JobLock> lock(std::in_place, directory.get(), "here");
  const std::string name = *names().begin();
  lock.reset();
  core::Descriptor(openat(directory.get(), name.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
  EXPECT_TRUE(JobLock(directory.get(), "here").holds());
  EXPECT_TRUE(names().empty());
}

}  // namespace
}  // namespace tabane::workloads::aes_dir
