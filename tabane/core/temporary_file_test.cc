#include "tabane/core/temporary_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "tabane/core/cgroup.h"
#include "tabane/core/error.h"
#include "tabane/core/files_test.h"

namespace tabane::core {
namespace {

namespace fs = std::filesystem;

class Temporary : public testing::Test {
 protected:
  std::set<std::string> names() const { return names_in(place_); }

  const ScratchFolder folder_{"tabane-test"};
  const fs::path place_ = folder_.path();
  const Descriptor directory_ = open_directory(place_);
};

TEST(TemporaryName, HasPrefixSixteenLowerHexadecimalDigitsAndSuffixExactly) {
  EXPECT_TRUE(is_temporary_name(".tabane-0123456789abcdef.part"));
  EXPECT_TRUE(is_temporary_name(".tabane-0000000000000000.part"));
  for (const char* other :
       {"", ".tabane-.part", ".tabane-0123456789abcde.part", ".tabane-0123456789abcdef0.part",
        ".tabane-0123456789ABCDEF.part", ".tabane-0123456789abcdeg.part",
        ".tabane-0123456789abcdef.par", ".tabane-0123456789abcdef.part~",
        " .tabane-0123456789abcdef.part", "tabane-0123456789abcdef.part",
        ".tabane_0123456789abcdef.part", ".tabane-0123456789abcdef-part"}) {
    EXPECT_FALSE(is_temporary_name(other)) << other;
  }
  EXPECT_FALSE(is_temporary_name(std::string_view(".tabane-0123456789abcde\0.part", 29)));
}

TEST_F(Temporary, HasATemporaryNameUntilItIsRenamed) {
  TemporaryFile file(directory_.get(), "final", 0600);
  ASSERT_EQ(names().size(), 1u);
  EXPECT_TRUE(is_temporary_name(*names().begin()));
  write_all(file.fd(), "text", 4, "final");
  file.rename(false);
  EXPECT_EQ(names(), std::set<std::string>{"final"});
  EXPECT_EQ(read_file(place_ / "final"), "text");
}

TEST_F(Temporary, IsRemovedIfItIsNotRenamed) {
  { TemporaryFile(directory_.get(), "final", 0600); }
  EXPECT_TRUE(names().empty());
}

TEST_F(Temporary, ReplacesOnlyARegularFileAndOnlyIfAsked) {
  write_file(place_ / "final", "old");
  TemporaryFile refused(directory_.get(), "final", 0600);
  EXPECT_THROW(refused.rename(false), SystemError);
  EXPECT_EQ(read_file(place_ / "final"), "old");
  TemporaryFile(directory_.get(), "final", 0600).rename(true);
  EXPECT_EQ(read_file(place_ / "final"), "");
}

// So many descriptors that there is no other.
class NoDescriptorLeft {
 public:
  NoDescriptorLeft() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{64, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
    do {
      held_.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    } while (held_.back().valid());
  }
  ~NoDescriptorLeft() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
  std::vector<Descriptor> held_;
};

TEST_F(Temporary, KeepsItsTemporaryNameIfItCannotStayLocked) {
  TemporaryFile file(directory_.get(), "final", 0600, "folder/final");
  try {
    const NoDescriptorLeft none;
    file.rename(false);
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_EQ(error.code(), EMFILE);
    EXPECT_NE(std::string(error.what()).find("folder/final"), std::string::npos) << error.what();
  }
  ASSERT_EQ(names().size(), 1u);
  EXPECT_TRUE(is_temporary_name(*names().begin()));
}

TEST_F(Temporary, NeverReplacesALinkOrAFifo) {
  write_file(place_ / "target", "kept");
  fs::create_symlink("target", place_ / "link");
  ASSERT_EQ(::mkfifo((place_ / "fifo").c_str(), 0600), 0);
  for (const char* name : {"link", "fifo"}) {
    EXPECT_THROW(TemporaryFile(directory_.get(), name, 0600).rename(true), Error) << name;
  }
  EXPECT_TRUE(fs::is_symlink(place_ / "link"));
  EXPECT_TRUE(fs::is_fifo(place_ / "fifo"));
  EXPECT_EQ(read_file(place_ / "target"), "kept");
  EXPECT_EQ(names().size(), 3u);
}

TEST_F(Temporary, HasNoNameUntilItIsRenamedIfItIsUnnamed) {
  if (!unnamed_files_get_names(directory_.get())) GTEST_SKIP() << "not on this file system";
  EXPECT_TRUE(names().empty());
  TemporaryFile file(directory_.get(), "final", 0640, {}, Until::unnamed);
  TemporaryFile late(directory_.get(), "final", 0640, {}, Until::unnamed);
  write_all(file.fd(), "text", 4, "final");
  EXPECT_TRUE(names().empty());
  file.rename(false);
  EXPECT_EQ(names(), std::set<std::string>{"final"});
  EXPECT_EQ(read_file(place_ / "final"), "text");
  try {
    late.rename(false);
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_EQ(error.code(), EEXIST);
  }
  EXPECT_EQ(read_file(place_ / "final"), "text");
}

TEST_F(Temporary, HasItsNameAtOnceAndGoesUnlessItIsWholeIfItIsInPlace) {
  const auto make = [this] {
    return std::make_unique<TemporaryFile>(directory_.get(), "final", 0640, "", Until::in_place);
  };
  {
    const auto dropped = make();
    EXPECT_THROW(make(), SystemError);
    EXPECT_EQ(names(), std::set<std::string>{"final"});
  }
  EXPECT_TRUE(names().empty());
  make()->rename(false);
  EXPECT_EQ(names(), std::set<std::string>{"final"});
}

// As Linux before 6.10 does for most users.
TEST_F(Temporary, GetsItsNameByWayOfProcWhereItsDescriptorIsNotEnough) {
  std::thread([&] {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_linkat, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[4])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AT_EMPTY_PATH, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOENT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{6, program};
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
      GTEST_SKIP() << "system calls cannot be filtered here";
    }
    if (!unnamed_files_get_names(directory_.get())) GTEST_SKIP() << "not on this file system";
    for (const char* name : {"first", "second"}) {
      TemporaryFile(directory_.get(), name, 0600, {}, Until::unnamed).rename(false);
    }
    EXPECT_EQ(names(), (std::set<std::string>{"first", "second"}));
  }).join();
}

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
