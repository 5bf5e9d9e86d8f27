#include "tabane/tools/encrypt/tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <set>
#include <thread>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/files_test.h"
#include "tabane/core/temporary_file.h"

namespace tabane::encrypt {
namespace {

TEST(GrowingArray, KeepsItsValuesAsItGrows) {
  GrowingArray<int> values;
  EXPECT_TRUE(values.empty());
  for (int i = 0; i < 100'000; ++i) values.push_back(i);
  ASSERT_EQ(values.size(), 100'000u);
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0LL), 4999950000LL);
  EXPECT_EQ(values.front(), 0);
  EXPECT_EQ(values.back(), 99'999);
}

TEST(GrowingArray, AppendsManyAndNoneAndItself) {
  GrowingArray<char> text;
  text.append("", 0);
  EXPECT_TRUE(text.empty());
  text.append("abc", 3);
  while (text.size() < 100) text.push_back(text.back());
  EXPECT_EQ(text[2], 'c');
  EXPECT_EQ(text[99], 'c');
}

TEST(GrowingArray, LeavesNothingBehindWhenItMoves) {
  GrowingArray<int> from;
  from.push_back(7);
  GrowingArray<int> to = std::move(from);
  EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move)
  from.push_back(8);
  EXPECT_EQ(from[0], 8);
  from = std::move(to);
  ASSERT_EQ(from.size(), 1u);
  EXPECT_EQ(from[0], 7);
}

using Names = std::vector<std::string>;

class TemporaryTree : public testing::Test {
 protected:
  void SetUp() override {
    root_ = core::open_directory(place_);
    ASSERT_TRUE(root_.valid());
  }

  int root() const { return root_.get(); }

  void directory(const std::string& path) { ASSERT_EQ(::mkdirat(root(), path.c_str(), 0700), 0); }

  void file(const std::string& path, std::size_t bytes = 0) { file_at(root(), path, bytes); }

  static void file_at(int at, const std::string& path, std::size_t bytes = 0) {
    const core::Descriptor made(
        ::openat(at, path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    ASSERT_TRUE(made.valid()) << path;
    ASSERT_EQ(::ftruncate(made.get(), static_cast<off_t>(bytes)), 0);
  }

  // root/d/d/d…; fill gets each of them open.
  template <typename Fill>
  void chain(int levels, Fill fill) {
    core::Descriptor at(::dup(root()));
    for (int level = 0; level < levels; ++level) {
      ASSERT_EQ(::mkdirat(at.get(), "d", 0700), 0);
      at.reset(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      ASSERT_TRUE(at.valid());
      fill(at.get());
    }
  }

  // Takes root/d/d/d… away level by level, since deep trees are too much for remove_all.
  void remove_chain() {
    for (;;) {
      const bool more = ::renameat(root(), "d/d", root(), "next") == 0;
      std::filesystem::remove_all(std::filesystem::path(place_) / "d");
      if (!more) return;
      ASSERT_EQ(::renameat(root(), "next", root(), "d"), 0);
    }
  }

  const core::ScratchFolder folder_{"tabane-test"};
  const std::string place_ = folder_.path().string();
  core::Descriptor root_;
};

Names file_paths(const Tree& tree) {
  Names paths;
  for (const TreeFile& file : tree.files) paths.push_back(tree.path(file));
  return paths;
}

Names directory_paths(const Tree& tree) {
  Names paths;
  for (std::uint32_t i = 0; i < tree.directories.size(); ++i) paths.push_back(tree.path(i));
  return paths;
}

int open_descriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

// Allows this process only `more` descriptors than it has.
class FewDescriptors {
 public:
  explicit FewDescriptors(int more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit few = before_;
    const core::Descriptor next(::open("/dev/null", O_RDONLY));
    few.rlim_cur = static_cast<rlim_t>(next.get() + more);
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

void expect_parents_first_and_files_together(const Tree& tree) {
  for (std::size_t i = 1; i < tree.directories.size(); ++i) {
    EXPECT_LT(tree.directories[i].parent, i);
  }
  std::set<std::uint32_t> seen;
  for (std::size_t i = 0; i < tree.files.size(); ++i) {
    if (i > 0 && tree.files[i].directory == tree.files[i - 1].directory) continue;
    EXPECT_TRUE(seen.insert(tree.files[i].directory).second) << tree.path(tree.files[i]);
  }
}

using Scan = TemporaryTree;

TEST_F(Scan, FindsNothingButTheRootInAnEmptyDirectory) {
  const Tree tree = scan(root(), {});
  ASSERT_EQ(tree.directories.size(), 1u);
  EXPECT_EQ(tree.path(0u), "");
  EXPECT_TRUE(tree.files.empty());
  EXPECT_EQ(tree.bytes(), 0u);
  EXPECT_TRUE(tree.failures.empty());
}

TEST_F(Scan, FindsFilesWithSizesInTheOrderOfNames) {
  directory("b");
  directory("b/inner");
  directory("empty");
  file("z", 7);
  file("a", 5);
  file("b/two", 2);
  file("b/inner/one", 1);
  file("b/Upper");
  const Tree tree = scan(root(), {});
  EXPECT_EQ(file_paths(tree), (Names{"a", "z", "b/Upper", "b/two", "b/inner/one"}));
  EXPECT_EQ(directory_paths(tree), (Names{"", "b", "empty", "b/inner"}));
  EXPECT_EQ(tree.files[1].bytes, 7u);
  EXPECT_EQ(tree.bytes(), 15u);
  expect_parents_first_and_files_together(tree);
}

TEST_F(Scan, CanBeRepeatedOnTheSameDescriptor) {
  file("a");
  EXPECT_EQ(scan(root(), {}).files.size(), 1u);
  EXPECT_EQ(scan(root(), {}).files.size(), 1u);
}

TEST_F(Scan, KeepsTheBytesOfOddNames) {
  const std::string longest(255, 'n'), line = "two\nlines", bytes = "\xff\xfe\x80", star = "*?[";
  for (const std::string& name : {longest, line, bytes, star}) file(name);
  directory("\xc3\x28");
  file("\xc3\x28/\n");
  Names expected = {longest, line, bytes, star, "\xc3\x28/\n"};
  Names found = file_paths(scan(root(), {}));
  std::sort(expected.begin(), expected.end());
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, expected);
}

TEST(PackedTime, IsTheSameForTheSameTimeAlone) {
  EXPECT_EQ(packed_time(5, 7), packed_time(5, 7));
  EXPECT_NE(packed_time(5, 7), packed_time(5, 8));
  EXPECT_NE(packed_time(5, 7), packed_time(-5, 7));
  EXPECT_NE(packed_time(8'000'000'000, 999'999'999), kNoTime);
  EXPECT_NE(packed_time(-8'000'000'000, 0), packed_time(8'000'000'000, 0));
  EXPECT_EQ(packed_time(9'000'000'000, 0), kNoTime);
  EXPECT_EQ(packed_time(-9'000'000'000, 0), kNoTime);
}

TEST_F(Scan, KeepsTimesIfAskedAndModes) {
  file("a", 3);
  EXPECT_EQ(scan(root(), {}).times.size(), 0u);
  const Tree tree = scan(root(), {}, Temporaries::take, false, true);
  struct stat status {};
  ASSERT_EQ(::fstatat(root(), "a", &status, 0), 0);
  ASSERT_EQ(tree.times.size(), 1u);
  EXPECT_EQ(tree.times[0],
            packed_time(status.st_mtim.tv_sec, static_cast<std::uint32_t>(status.st_mtim.tv_nsec)));
  EXPECT_EQ(tree.files[0].mode, 0600u);
}

TEST_F(Scan, LooksAtManyFilesBySeveralThreads) {
  constexpr std::size_t kEach = 520;
  for (const std::string folder : {"a", "b"}) {
    directory(folder);
    const core::Descriptor at(::openat(root(), folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (std::size_t i = 0; i < kEach; ++i) file_at(at.get(), std::to_string(1000 + i), i);
  }
  ASSERT_EQ(::linkat(root(), "a/1001", root(), "z", 0), 0);
  const Tree tree = scan(root(), {}, Temporaries::take, false, true, 3);
  ASSERT_EQ(tree.files.size(), 1 + 2 * kEach);
  EXPECT_EQ(tree.files[0].bytes, 1u);
  for (std::size_t i = 0; i < 2 * kEach; ++i) {
    ASSERT_EQ(tree.files[1 + i].bytes, i % kEach);
    ASSERT_EQ(tree.files[1 + i].mode, 0600u);
    ASSERT_NE(tree.times[1 + i], kNoTime);
  }
  ASSERT_EQ(tree.shared.size(), 2u);
  EXPECT_EQ(tree.shared[0].file, 0u);
  EXPECT_EQ(tree.shared[1].file, 2u);
}

TEST_F(Scan, LeavesOutWhatIsGoneWhenItIsLookedAt) {
  const core::Descriptor there = core::open_directory("/proc/self/fdinfo");
  const Tree tree = scan(there.get(), {}, Temporaries::leave_out, false, true);
  EXPECT_TRUE(tree.failures.empty());
  EXPECT_EQ(tree.excluded, 0u);
  EXPECT_GE(tree.files.size(), 4u);
  ASSERT_EQ(tree.times.size(), tree.files.size());
  // Not the descriptor by which it was listed.
  for (std::size_t i = 0; i < tree.files.size(); ++i) {
    EXPECT_NE(tree.files[i].mode, 0u) << tree.path(tree.files[i]);
    EXPECT_NE(tree.times[i], kNoTime);
  }
}

TEST_F(Scan, KeepsLinksWithoutFollowingThemAndLeavesSpecialFilesOut) {
  directory("real");
  file("real/file");
  ASSERT_EQ(::symlinkat("real", root(), "to-directory"), 0);
  ASSERT_EQ(::symlinkat("real/file", root(), "to-file"), 0);
  ASSERT_EQ(::symlinkat(".", root(), "loop"), 0);
  ASSERT_EQ(::symlinkat("nowhere", root(), "dangling"), 0);
  ASSERT_EQ(::mkfifoat(root(), "fifo", 0600), 0);
  const core::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = place_ + "/socket";
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);

  const Tree tree = scan(root(), {});
  EXPECT_EQ(file_paths(tree), Names{"real/file"});
  EXPECT_EQ(tree.directories.size(), 2u);
  Names links;
  for (const TreeLink& link : tree.links) {
    links.push_back(tree.path(link) + " -> " + read_link(root(), tree.path(link).c_str()));
  }
  EXPECT_EQ(links, (Names{"dangling -> nowhere", "loop -> .", "to-directory -> real",
                          "to-file -> real/file"}));
  EXPECT_EQ(tree.specials, (Names{"fifo", "socket"}));
}

TEST_F(Scan, NamesFilesWithATemporaryNameButNotOtherThingsOfThatName) {
  core::leave_behind(folder_.path() / ".tabane-0123456789abcdef.part", "cut");
  file(".tabane-0123456789abcde.part");
  file(".tabane-0000000000000000.part");  // a user's
  directory(".tabane-fedcba9876543210.part");
  const Tree tree = scan(root(), {});
  EXPECT_EQ(tree.temporaries, Names{".tabane-0123456789abcdef.part"});
  EXPECT_EQ(file_paths(tree),
            (Names{".tabane-0000000000000000.part", ".tabane-0123456789abcde.part"}));
  EXPECT_EQ(tree.directories.size(), 2u);
}

TEST_F(Scan, TakesFilesWithATemporaryNameIfAsked) {
  core::leave_behind(folder_.path() / ".tabane-0123456789abcdef.part", "cut");
  const Tree tree = scan(root(), {}, Temporaries::take);
  EXPECT_EQ(file_paths(tree), Names{".tabane-0123456789abcdef.part"});
  EXPECT_TRUE(tree.temporaries.empty());
}

TEST_F(Scan, HoldsPatternsWithoutSlashAgainstNames) {
  directory("cache");
  file("cache/inside");
  directory("keep");
  file("keep/a.o");
  file("keep/a.c");
  file("b.o");
  const Tree tree = scan(root(), Selection({"*.o", "cache"}));
  EXPECT_EQ(file_paths(tree), Names{"keep/a.c"});
  EXPECT_EQ(directory_paths(tree), (Names{"", "keep"}));
  EXPECT_EQ(tree.excluded, 3u);
}

TEST_F(Scan, HoldsPatternsWithSlashAgainstPathsBelowTheRoot) {
  directory("a");
  directory("a/b");
  file("a/x.o");
  file("a/b/x.o");
  file("x.o");
  const Tree shallow = scan(root(), Selection({"a/*.o"}));
  EXPECT_EQ(file_paths(shallow), (Names{"x.o", "a/b/x.o"}));
  EXPECT_EQ(shallow.excluded, 1u);
  const Tree deep = scan(root(), Selection({"a/b"}));
  EXPECT_EQ(file_paths(deep), (Names{"x.o", "a/x.o"}));
}

TEST_F(Scan, FindsAllOfManyFilesInOneDirectory) {
  constexpr int kFiles = 5000;
  for (int i = 0; i < kFiles; ++i) file(std::to_string(kFiles + i), 1);
  const Tree tree = scan(root(), {});
  ASSERT_EQ(tree.files.size(), static_cast<std::size_t>(kFiles));
  for (int i = 0; i < kFiles; ++i) {
    ASSERT_EQ(tree.name(tree.files[static_cast<std::size_t>(i)].name_at),
              std::to_string(kFiles + i));
  }
}

TEST_F(Scan, GoesDeeperThanPathsCanSayWithFewDescriptors) {
  constexpr int kLevels = 2500;  // a path of 5000 bytes, PATH_MAX is 4096
  chain(kLevels, [](int at) { file_at(at, "f", 1); });
  const int before = open_descriptors();
  {
    const FewDescriptors limit(40);
    const Tree tree = scan(root(), Selection({"d/f"}));
    EXPECT_EQ(tree.directories.size(), kLevels + 1u);
    ASSERT_EQ(tree.files.size(), kLevels - 1u);
    EXPECT_EQ(tree.excluded, 1u);
    EXPECT_TRUE(tree.failures.empty());
    EXPECT_EQ(tree.path(tree.files.back()).size(), 2u * kLevels + 1);
  }
  EXPECT_EQ(open_descriptors(), before);
  remove_chain();
}

TEST_F(Scan, ComesBackUpFromTheDepths) {
  constexpr std::size_t kLevels = 300;
  chain(kLevels, [](int at) {
    ASSERT_EQ(::mkdirat(at, "side", 0700), 0);
    ASSERT_EQ(::mkdirat(at, "side/in", 0700), 0);
    file_at(at, "side/in/f");
  });
  const Tree tree = scan(root(), {});
  EXPECT_TRUE(tree.failures.empty());
  EXPECT_EQ(tree.directories.size(), 1 + 3 * kLevels);
  EXPECT_EQ(tree.files.size(), kLevels);
  expect_parents_first_and_files_together(tree);
  EXPECT_EQ(tree.path(tree.files.back()), "d/side/in/f");
  remove_chain();
}

TEST_F(Scan, GoesOnAfterADirectoryThatCannotBeRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read every directory";
  directory("closed");
  file("closed/hidden");
  directory("listed");
  file("listed/unknown");
  directory("open");
  file("open/file");
  ASSERT_EQ(::fchmodat(root(), "closed", 0, 0), 0);
  ASSERT_EQ(::fchmodat(root(), "listed", 0400, 0), 0);
  const Tree tree = scan(root(), {});
  ::fchmodat(root(), "closed", 0700, 0);
  ::fchmodat(root(), "listed", 0700, 0);
  EXPECT_EQ(file_paths(tree), Names{"open/file"});
  ASSERT_EQ(tree.failures.size(), 2u);
  EXPECT_EQ(tree.failures[0].path, "closed");
  EXPECT_EQ(tree.failures[0].what, "directory cannot be opened: Permission denied");
  EXPECT_EQ(tree.failures[1].path, "listed/unknown");
  EXPECT_EQ(tree.failures[1].what, "cannot be looked at: Permission denied");
}

TEST_F(Scan, ThrowsIfTheRootIsNoDirectory) {
  file("file");
  const core::Descriptor no_directory(::openat(root(), "file", O_RDONLY | O_CLOEXEC));
  try {
    scan(no_directory.get(), {});
    FAIL();
  } catch (const core::SystemError& error) {
    EXPECT_EQ(error.code(), ENOTDIR);
  }
}

TEST(SingleFile, IsATreeOfOneFileInTheRoot) {
  const Tree tree = single_file("name", 42);
  EXPECT_EQ(directory_paths(tree), Names{""});
  EXPECT_EQ(file_paths(tree), Names{"name"});
  EXPECT_EQ(tree.bytes(), 42u);
}

using Opener = TemporaryTree;

ino_t inode(int fd) {
  struct stat status {};
  EXPECT_EQ(::fstat(fd, &status), 0);
  return status.st_ino;
}

ino_t inode(int root, const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::fstatat(root, path.empty() ? "." : path.c_str(), &status, 0), 0) << path;
  return status.st_ino;
}

TEST_F(Opener, OpensEachDirectoryInAnyOrderWhateverItKeeps) {
  for (const char* path : {"a", "a/b", "a/b/c", "a/e", "f", "f/g"}) directory(path);
  const Tree tree = scan(root(), {});
  const auto count = static_cast<std::uint32_t>(tree.directories.size());
  ASSERT_EQ(count, 7u);
  for (std::size_t keep : {1, 2, 3, 10}) {
    DirectoryOpener opener(tree, root(), false, keep);
    for (std::uint32_t from = 0; from < count; ++from) {
      for (std::uint32_t to = 0; to < count; ++to) {
        EXPECT_EQ(inode(opener.open(from)->get()), inode(root(), tree.path(from)));
        EXPECT_EQ(inode(opener.open(to)->get()), inode(root(), tree.path(to)));
      }
    }
  }
}

TEST_F(Opener, KeepsNoMoreDescriptorsThanAskedFor) {
  chain(50, [](int) {});
  const Tree tree = scan(root(), {});
  const int before = open_descriptors();
  {
    DirectoryOpener opener(tree, root(), false, 3);
    opener.open(50);
    EXPECT_EQ(open_descriptors(), before + 3);
    opener.open(0);
    EXPECT_LE(open_descriptors(), before + 3);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(Opener, GivesDescriptorsThatOutliveItAndLeavesTheRootOpen) {
  directory("a");
  directory("b");
  const Tree tree = scan(root(), {});
  core::SharedDescriptor a, b;
  {
    DirectoryOpener opener(tree, root(), false, 1);
    EXPECT_EQ(opener.open(0)->get(), root());
    a = opener.open(1);
    b = opener.open(2);
  }
  EXPECT_EQ(inode(a->get()), inode(root(), "a"));
  EXPECT_EQ(inode(b->get()), inode(root(), "b"));
  EXPECT_EQ(inode(root()), inode(root(), ""));
}

TEST_F(Opener, MakesWhatIsMissingForTheOwnerAlone) {
  directory("in");
  directory("in/a");
  directory("in/a/b");
  directory("out");
  directory("out/a");
  const core::Descriptor in = core::open_directory(folder_ / "in");
  const core::Descriptor out = core::open_directory(folder_ / "out");
  const Tree tree = scan(in.get(), {});
  DirectoryOpener(tree, out.get(), true).open(2);
  struct stat made {};
  ASSERT_EQ(::fstatat(out.get(), "a/b", &made, AT_SYMLINK_NOFOLLOW), 0);
  EXPECT_TRUE(S_ISDIR(made.st_mode));
  EXPECT_EQ(made.st_mode & 0077u, 0u);
}

TEST_F(Opener, MakesDeepTreesAlone) {
  constexpr int kLevels = 2500;
  Tree tree = single_file("f", 0);
  const std::uint64_t name = tree.names.size();
  tree.names.append("d", 2);
  for (std::uint32_t i = 0; i < kLevels; ++i) tree.directories.push_back({i, name});
  DirectoryOpener(tree, root(), true).open(kLevels);
  EXPECT_EQ(directory_paths(scan(root(), {})).back().size(), 2u * kLevels - 1);
  remove_chain();
}

TEST_F(Opener, MakesTheSameDirectoriesFromSeveralThreads) {
  constexpr std::uint32_t kLevels = 200;
  Tree tree = single_file("f", 0);
  const std::uint64_t name = tree.names.size();
  tree.names.append("d", 2);
  for (std::uint32_t i = 0; i < kLevels; ++i) tree.directories.push_back({i, name});
  std::vector<std::thread> threads;
  std::vector<ino_t> last(4);
  std::atomic<int> refused = 0;
  std::barrier together(4);
  for (ino_t& place : last) {
    threads.emplace_back([&] {
      DirectoryOpener opener(tree, root(), true);
      for (std::uint32_t i = 1; i <= kLevels; ++i) {
        together.arrive_and_wait();
        try {
          place = inode(opener.open(i)->get());
        } catch (const core::SystemError&) {
          ++refused;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 0);
  EXPECT_EQ(last, std::vector<ino_t>(4, last[0]));
}

TEST_F(Opener, NamesThePathOfWhatIsMissing) {
  directory("a");
  directory("a/b");
  directory("a/b/c");
  const Tree tree = scan(root(), {});
  ASSERT_EQ(::unlinkat(root(), "a/b/c", AT_REMOVEDIR), 0);
  ASSERT_EQ(::unlinkat(root(), "a/b", AT_REMOVEDIR), 0);
  DirectoryOpener opener(tree, root(), false);
  try {
    opener.open(3);
    FAIL();
  } catch (const core::SystemError& error) {
    EXPECT_STREQ(error.what(), "a/b: openat: No such file or directory");
    EXPECT_EQ(error.code(), ENOENT);
  }
  EXPECT_EQ(inode(opener.open(1)->get()), inode(root(), "a"));
}

TEST_F(Opener, RefusesALinkOrAFileInPlaceOfADirectory) {
  directory("a");
  directory("elsewhere");
  const Tree tree = scan(root(), {});
  ASSERT_EQ(tree.path(1u), "a");
  ASSERT_EQ(::unlinkat(root(), "a", AT_REMOVEDIR), 0);
  ASSERT_EQ(::symlinkat("elsewhere", root(), "a"), 0);
  for (const bool make : {false, true}) {
    EXPECT_THROW(DirectoryOpener(tree, root(), make).open(1), core::SystemError);
  }
  ASSERT_EQ(::unlinkat(root(), "a", 0), 0);
  file("a");
  EXPECT_THROW(DirectoryOpener(tree, root(), true).open(1), core::SystemError);
}

}  // namespace
}  // namespace tabane::encrypt
