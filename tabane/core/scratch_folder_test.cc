#include "tabane/core/scratch_folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include <cerrno>
#include <optional>

#include "tabane/core/cgroup.h"
#include "tabane/core/error.h"
#include "tabane/core/files_test.h"

namespace tabane::core {
namespace {

namespace fs = std::filesystem;

TEST(ScratchFolder, IsAnEmptyFolderThatGoesWithAllThatIsInIt) {
  const ScratchFolder parent("tabane-scratch");
  {
    const ScratchFolder scratch("mine", parent.path());
    EXPECT_TRUE(fs::is_empty(scratch.path()));
    fs::create_directories(scratch / "a/b");
    write_file(scratch / "a/b/c", "text");
    EXPECT_EQ(read_file(scratch.path() / "a/b/c"), "text");
  }
  EXPECT_TRUE(fs::is_empty(parent.path()));
}

TEST(ScratchFolder, StandsInTheSystemsTemporaryFolderIfNoneIsGiven) {
  const ScratchFolder scratch("tabane-scratch");
  EXPECT_EQ(scratch.path().parent_path().parent_path(), fs::temp_directory_path());
}

TEST(ScratchFolder, TakesAwayWhatKilledProcessesLeftButNotWhatIsInUse) {
  const ScratchFolder parent("tabane-scratch");
  fs::create_directories(parent / "mine-killed/files");
  write_file(parent / "mine-killed/files/f", "text");
  fs::create_directories(parent / "other-folder");
  write_file(parent / "mine-file", "text");
  const ScratchFolder first("mine", parent.path());
  const ScratchFolder second("mine", parent.path());
  EXPECT_FALSE(fs::exists(parent / "mine-killed"));
  EXPECT_TRUE(fs::exists(first.path()));
  EXPECT_TRUE(fs::exists(second.path()));
  EXPECT_TRUE(fs::exists(parent / "other-folder"));
  EXPECT_TRUE(fs::exists(parent / "mine-file"));
}

TEST(ScratchFolder, LeavesFoldersThatOnlyShareItsName) {
  const ScratchFolder parent("tabane-scratch");
  fs::create_directories(parent / "mine-results/files");  // another length
  fs::create_directories(parent / "mine-notes0");
  write_file(parent / "mine-notes0/precious", "text");
  const ScratchFolder scratch("mine", parent.path());
  EXPECT_TRUE(fs::exists(parent / "mine-results/files"));
  EXPECT_TRUE(fs::exists(parent / "mine-notes0/precious"));
}

TEST(ScratchFolder, CanBeLockedByThoseWhoWorkInIt) {
  const ScratchFolder scratch("tabane-scratch");
  const Descriptor folder = open_directory(scratch.path());
  EXPECT_EQ(::flock(folder.get(), LOCK_EX | LOCK_NB), 0);
}

TEST(ScratchFolder, NamesThePlaceWhereNoneCanBeMade) {
  try {
    const ScratchFolder scratch("mine", "/nonexistent");
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_EQ(error.code(), ENOENT);
    EXPECT_NE(std::string(error.what()).find("/nonexistent/mine-"), std::string::npos);
  }
}

TEST(Place, TellsWhetherFilesAreInMemoryAndHowManyBytesCanBeWritten) {
  EXPECT_FALSE(is_in_memory("/proc"));
  EXPECT_FALSE(is_in_memory("/nonexistent"));
  EXPECT_EQ(writable_bytes("/proc"), 0u);
  EXPECT_THROW(writable_bytes("/nonexistent"), SystemError);
  if (!is_in_memory("/dev/shm")) GTEST_SKIP() << "no memory file system at /dev/shm";
  const auto usable = usable_memory_bytes();
  ASSERT_TRUE(usable.has_value());
  EXPECT_LE(static_cast<double>(writable_bytes("/dev/shm")), 2 * *usable);
}

}  // namespace
}  // namespace tabane::core
