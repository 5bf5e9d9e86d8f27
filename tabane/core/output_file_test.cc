#include "tabane/core/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <thread>

#include "tabane/core/files_test.h"
#include "tabane/core/text_of_error_test.h"

namespace tabane::core {
namespace {

using Names = std::set<std::string>;

class TemporaryDirectory : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::make_shared<const Descriptor>(open_directory(place_));
    ASSERT_TRUE(directory_->valid());
    put("source", "");
    ASSERT_EQ(::fstatat(at(), "source", &source_, 0), 0);
    ASSERT_EQ(::unlinkat(at(), "source", 0), 0);
    source_.st_mode = S_IFREG | 0640;
    source_.st_atim = {1'000'000'000, 123'456'789};
    source_.st_mtim = {1'234'567'890, 987'654'321};
  }

  int at() const { return directory_->get(); }

  void put(const std::string& name, std::string_view text) { write_file(folder_ / name, text); }

  std::string text(const std::string& name) { return read_file(folder_ / name); }

  Names names() { return names_in(place_); }

  struct stat status(const std::string& name) {
    struct stat found {};
    EXPECT_EQ(::fstatat(at(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW), 0);
    return found;
  }

  mode_t committed_mode(mode_t made_with, const struct stat& source) {
    OutputFile file(directory_, "m", made_with);
    file.commit(source, {.replace = true});
    return status("m").st_mode & 07777;
  }

  const ScratchFolder folder_{"tabane-test"};
  const std::string place_ = folder_.path().string();
  SharedDescriptor directory_;
  struct stat source_ {};
};

using OutputFileIn = TemporaryDirectory;

TEST_F(OutputFileIn, StandsUnderATemporaryNameUntilCommit) {
  OutputFile file(directory_, "final", 0600);
  ASSERT_EQ(names().size(), 1u);
  EXPECT_TRUE(is_temporary_name(*names().begin()));
  write_all_at(file.fd(), "text", 4, 0, "final");
  file.commit(source_, {});
  EXPECT_EQ(names(), Names{"final"});
  EXPECT_EQ(text("final"), "text");
}

TEST_F(OutputFileIn, LeavesNothingWithoutCommit) {
  {
    OutputFile file(directory_, "final", 0600);
    write_all_at(file.fd(), "text", 4, 0, "final");
  }
  EXPECT_EQ(names(), Names{});
}

TEST_F(OutputFileIn, LeavesNoTemporaryFileAndNoDescriptorBehind) {
  const int free_before = Descriptor(::open("/dev/null", O_RDONLY)).get();
  for (int i = 0; i < 3; ++i) {
    OutputFile(directory_, "dropped", 0600);
    OutputFile kept(directory_, "kept" + std::to_string(i), 0600);
    kept.commit(source_, {});
  }
  EXPECT_EQ(names(), (Names{"kept0", "kept1", "kept2"}));
  EXPECT_EQ(Descriptor(::open("/dev/null", O_RDONLY)).get(), free_before);
}

TEST_F(OutputFileIn, RefusesATakenNameAndLeavesTheOldFile) {
  put("final", "old");
  EXPECT_EQ(code_of([this] { OutputFile(directory_, "final", 0600).commit(source_, {}); }), EEXIST);
  EXPECT_EQ(names(), Names{"final"});
  EXPECT_EQ(text("final"), "old");
}

TEST_F(OutputFileIn, RefusesANameTakenByALinkThatLeadsNowhere) {
  ASSERT_EQ(::symlinkat("nowhere", at(), "final"), 0);
  EXPECT_EQ(code_of([this] { OutputFile(directory_, "final", 0600).commit(source_, {}); }), EEXIST);
  EXPECT_EQ(names(), Names{"final"});
}

TEST_F(OutputFileIn, ReplacesIfAsked) {
  put("final", "old text");
  OutputFile file(directory_, "final", 0600);
  write_all_at(file.fd(), "new", 3, 0, "final");
  file.commit(source_, {.replace = true});
  EXPECT_EQ(names(), Names{"final"});
  EXPECT_EQ(text("final"), "new");
}

TEST_F(OutputFileIn, ReplacesNeitherALinkNorWhatItLeadsTo) {
  put("target", "kept");
  ASSERT_EQ(::symlinkat("target", at(), "final"), 0);
  OutputFile file(directory_, "final", 0600);
  EXPECT_THROW(file.commit(source_, {.replace = true}), Error);
  EXPECT_TRUE(S_ISLNK(status("final").st_mode));
  EXPECT_EQ(text("target"), "kept");
}

TEST_F(OutputFileIn, CannotReplaceADirectory) {
  ASSERT_EQ(::mkdirat(at(), "final", 0700), 0);
  try {
    OutputFile(directory_, "final", 0600).commit(source_, {.replace = true});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "final: is a directory, so it is not replaced; move it away");
  }
  EXPECT_EQ(names(), Names{"final"});
}

TEST_F(OutputFileIn, NamesTheFinalFileInErrors) {
  put("final", "old");
  const std::string error = text_of_error<SystemError>(
      [this] { OutputFile(directory_, "final", 0600).commit(source_, {}); });
  EXPECT_TRUE(error.starts_with("final: ")) << error;
  EXPECT_EQ(text_of_error<SystemError>(
                [] { OutputFile(std::make_shared<const Descriptor>(), "final", 0600); }),
            "final: openat: Bad file descriptor");
}

TEST_F(OutputFileIn, KeepsTimesToTheNanosecond) {
  OutputFile file(directory_, "final", 0600);
  write_all_at(file.fd(), "text", 4, 0, "final");
  file.commit(source_, {.fsync = true});
  const struct stat made = status("final");
  EXPECT_EQ(made.st_atim.tv_sec, source_.st_atim.tv_sec);
  EXPECT_EQ(made.st_atim.tv_nsec, source_.st_atim.tv_nsec);
  EXPECT_EQ(made.st_mtim.tv_sec, source_.st_mtim.tv_sec);
  EXPECT_EQ(made.st_mtim.tv_nsec, source_.st_mtim.tv_nsec);
}

TEST_F(OutputFileIn, KeepsTheModeWhateverTheUmask) {
  for (const mode_t mask : {0000, 0022, 0077, 0777}) {
    const mode_t before = ::umask(mask);
    for (const mode_t mode : {0000, 0400, 0600, 0644, 0666, 0777, 01644, 02755, 04711}) {
      source_.st_mode = S_IFREG | mode;
      EXPECT_EQ(committed_mode(mode, source_), mode) << std::oct << mode << " umask " << mask;
      EXPECT_EQ(committed_mode(0600, source_), mode) << std::oct << mode << " umask " << mask;
    }
    ::umask(before);
  }
}

TEST_F(OutputFileIn, DropsSetUserAndSetGroupBitsOfOtherOwners) {
  source_.st_mode = S_IFREG | 06755;
  EXPECT_EQ(committed_mode(0755, source_), mode_t{06755});
  ++source_.st_uid;
  EXPECT_EQ(committed_mode(0755, source_), mode_t{02755});
  ++source_.st_gid;
  EXPECT_EQ(committed_mode(0755, source_), mode_t{0755});
}

TEST_F(OutputFileIn, NeverHasSpecialBitsBeforeCommit) {
  OutputFile file(directory_, "final", 07700);
  EXPECT_EQ(status(*names().begin()).st_mode & 07777u, 01700u);  // the mark of a leftover
}

TEST_F(OutputFileIn, MayBeMadeTwiceAtOnceUnderOneName) {
  OutputFile first(directory_, "final", 0600);
  OutputFile second(directory_, "final", 0600);
  EXPECT_EQ(names().size(), 2u);
  write_all_at(second.fd(), "second", 6, 0, "final");
  second.commit(source_, {});
  EXPECT_EQ(code_of([&] { first.commit(source_, {}); }), EEXIST);
  EXPECT_EQ(text("final"), "second");
}

TEST_F(OutputFileIn, IsMadeByManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([this, thread] {
      for (int i = 0; i < 100; ++i) {
        OutputFile file(directory_, std::to_string(thread * 100 + i), 0600);
        file.commit(source_, {});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(names().size(), 400u);
}

TEST_F(OutputFileIn, TakesANameOf255Bytes) {
  const std::string longest(255, 'n');
  OutputFile(directory_, longest, 0600).commit(source_, {});
  EXPECT_EQ(names(), Names{longest});
}

TEST_F(OutputFileIn, FindsAFreeNameWhereTheNextOnesAreTaken) {
  std::uint64_t number = 0;
  {
    OutputFile probe(directory_, "probe", 0600);
    number = std::stoull(names().begin()->substr(8, 16), nullptr, 16);
  }
  for (std::uint64_t i = 1; i <= 5; ++i) {
    char taken[32];
    std::snprintf(taken, sizeof taken, ".tabane-%016llx.part",
                  static_cast<unsigned long long>(number + i));
    put(taken, "taken");
  }
  OutputFile(directory_, "final", 0600).commit(source_, {});
  EXPECT_EQ(names().size(), 6u);
  for (const std::string& name : names()) {
    EXPECT_EQ(text(name), name == "final" ? "" : "taken");
  }
}

// Makes renameat2 fail with EINVAL in this thread, as file systems do that do not know its flags.
bool refuse_renameat2() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{4, program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

TEST_F(OutputFileIn, LinksWhereTheFileSystemCannotRenameWithoutReplacing) {
  bool refused = false;
  int linked = 0, taken = 0;
  std::thread([&] {
    refused = refuse_renameat2();
    if (!refused) return;
    OutputFile file(directory_, "final", 0600);
    write_all_at(file.fd(), "text", 4, 0, "final");
    linked = code_of([&] { file.commit(source_, {}); });
    taken = code_of([this] { OutputFile(directory_, "final", 0600).commit(source_, {}); });
  }).join();
  if (!refused) GTEST_SKIP() << "system calls cannot be filtered here";
  EXPECT_EQ(linked, 0);
  EXPECT_EQ(names(), Names{"final"});
  EXPECT_EQ(text("final"), "text");
  EXPECT_EQ(status("final").st_nlink, 1u);
  EXPECT_EQ(taken, EEXIST);
}

struct Leftovers : TemporaryDirectory {
  void leave(const std::string& name, std::string_view text) const {
    leave_behind(folder_ / name, text);
  }
  void make_old(const std::string& name) const {
    const timespec day_ago{.tv_sec = std::time(nullptr) - 24 * 3600, .tv_nsec = 0};
    const timespec times[2] = {day_ago, day_ago};
    ASSERT_EQ(::utimensat(at(), name.c_str(), times, AT_SYMLINK_NOFOLLOW), 0) << name;
  }
  FileId identity(const std::string& name) const {
    struct stat status {};
    EXPECT_EQ(::fstatat(at(), name.c_str(), &status, 0), 0) << name;
    return {status.st_dev, status.st_ino};
  }
};

TEST_F(Leftovers, AreRemovedIfTheyAreRegularFilesOfATemporaryName) {
  leave(".tabane-0123456789abcdef.part", "a");
  leave(".tabane-0123456789abcdf0.part", "b");
  leave(".tabane-0123456789abcde.part", "short");
  put("other", "c");
  ASSERT_EQ(::mkdirat(at(), ".tabane-00000000000000d1.part", 0700), 0);
  ASSERT_EQ(::symlinkat("other", at(), ".tabane-0000000000000011.part"), 0);
  EXPECT_EQ(remove_leftovers(at()), 2u);
  EXPECT_EQ(names(), (Names{".tabane-0123456789abcde.part", "other",
                            ".tabane-00000000000000d1.part", ".tabane-0000000000000011.part"}));
  EXPECT_EQ(remove_leftovers(at()), 0u);
}

TEST_F(Leftovers, AreNotTheFilesOfUsersThatHaveSuchNames) {
  put(".tabane-0000000000000000.part", "a user's");
  make_old(".tabane-0000000000000000.part");
  EXPECT_EQ(remove_leftovers(at()), 0u);
  EXPECT_EQ(remove_own_leftovers(at(), {}), 0u);
  // Neither what was written under such a name, with whatever mode.
  for (const mode_t mode : {0644u, 0600u, 0444u}) {
    source_.st_mode = S_IFREG | mode;
    OutputFile(directory_, ".tabane-0000000000000001.part", mode).commit(source_, {true});
    EXPECT_EQ(status(".tabane-0000000000000001.part").st_mode, S_IFREG | mode);
    EXPECT_EQ(remove_leftovers(at()), 0u);
    EXPECT_EQ(remove_own_leftovers(at(), {}), 0u);
  }
}

TEST_F(Leftovers, AreWhatAKilledRunLeaves) {
  std::optional<OutputFile> written(std::in_place, directory_, "final", 0640);
  const std::string name = written->temporary_name();
  EXPECT_TRUE(is_leftover(name, status(name).st_mode));
  EXPECT_EQ(remove_leftovers(at()), 0u);  // it is locked
  write_all(written->fd(), "text", 4, name);
  EXPECT_TRUE(is_leftover(name, status(name).st_mode));
}

TEST_F(Leftovers, AreKeptIfTheirNamesAreWanted) {
  leave(".tabane-0123456789abcdef.part", "a");
  leave(".tabane-0123456789abcdf0.part", "b");
  const auto keep = [](const std::string& name) { return name.ends_with("ef.part"); };
  EXPECT_EQ(remove_leftovers(at(), keep), 1u);
  EXPECT_EQ(names(), Names{".tabane-0123456789abcdef.part"});
}

TEST_F(Leftovers, AreAllFoundAmongMany) {
  for (int i = 0; i < 1000; ++i) {
    char name[32];
    std::snprintf(name, sizeof name, ".tabane-%016x.part", static_cast<unsigned>(i));
    leave(name, "");
  }
  EXPECT_EQ(remove_leftovers(at()), 1000u);
  EXPECT_EQ(names(), Names{});
}

TEST_F(Leftovers, OfOwnRunsAreRemovedWhereOthersWrite) {
  leave(".tabane-0123456789abcdef.part", "a");
  leave(".tabane-0123456789abcdf0.part", "wanted");
  leave(".tabane-0123456789abcde.part", "short");
  ASSERT_EQ(::mkdirat(at(), ".tabane-00000000000000d1.part", 0700), 0);
  ASSERT_EQ(::symlinkat("other", at(), ".tabane-0000000000000011.part"), 0);
  const OutputFile written(directory_, "final", 0600);
  for (const std::string& name : names()) make_old(name);
  leave(".tabane-00000000000000aa.part", "just written, perhaps by another host");
  const std::set<FileId> keep = {identity(".tabane-0123456789abcdf0.part")};
  EXPECT_EQ(remove_own_leftovers(at(), keep), 1u);
  EXPECT_EQ(names(), (Names{".tabane-0123456789abcdf0.part", ".tabane-0123456789abcde.part",
                            ".tabane-00000000000000aa.part", ".tabane-00000000000000d1.part",
                            ".tabane-0000000000000011.part", written.temporary_name()}));
}

TEST_F(Leftovers, OfOthersStay) {
  const char* const name = ".tabane-0123456789abcdef.part";
  leave(name, "another user's");
  make_old(name);
  constexpr uid_t kNobody = 65534;
  if (::fchownat(at(), name, kNobody, static_cast<gid_t>(-1), 0) != 0) {
    GTEST_SKIP() << "files cannot be given away here";
  }
  EXPECT_EQ(remove_own_leftovers(at(), {}), 0u);
  EXPECT_EQ(names(), Names{name});
}

// A file that was just made and not locked yet may be taken for one; then another one is made.
TEST_F(Leftovers, AreNeverWhatAnotherThreadHasJustMade) {
  std::atomic<bool> done = false;
  std::array<std::thread, 4> removers;
  for (std::thread& remover : removers) {
    remover = std::thread([&] {
      while (!done) remove_leftovers(at());
    });
  }
  int failed = 0;
  for (int i = 0; i < 3'000; ++i) {
    failed += code_of([this] { OutputFile(directory_, "f", 0600).commit(source_, {true}); }) != 0;
  }
  done = true;
  for (std::thread& remover : removers) remover.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(names(), Names{"f"});
}

// Nobody can tell whether another job writes such a file.
TEST_F(Leftovers, StayWhereTheyCannotBeOpened) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer of undefined behaviour needs descriptors itself";
#endif
  const std::string name = ".tabane-0123456789abcdef.part";
  leave(name, "a");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const auto take_descriptors = [&](const std::string&) {  // after the directory was read
    const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    return false;
  };
  std::vector<std::string> doubtful;
  const int code = code_of([&] { remove_leftovers(at(), take_descriptors); });
  ::setrlimit(RLIMIT_NOFILE, &before);
  const std::size_t removed = remove_leftovers(at(), take_descriptors, &doubtful);
  ::setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(code, EMFILE);
  EXPECT_EQ(removed, 0u);
  EXPECT_EQ(doubtful, std::vector{name});
  EXPECT_EQ(names(), Names{name});
}

TEST_F(Leftovers, CannotBeLookedForWithoutADirectory) {
  EXPECT_EQ(code_of([] { remove_leftovers(-1); }), EBADF);
  EXPECT_EQ(remove_own_leftovers(-1, {}), 0u);
}

}  // namespace
}  // namespace tabane::core
