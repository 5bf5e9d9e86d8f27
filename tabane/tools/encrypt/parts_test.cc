// What a sealed tree keeps that most files do not have: holes, several names, extended attributes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "tabane/core/file.h"
#include "tabane/core/files_test.h"
#include "tabane/tools/encrypt/input_manifest.h"
#include "tabane/tools/encrypt/tree_job_test.h"

namespace tabane::encrypt {
namespace {

namespace fs = std::filesystem;
using core::read_file;
using core::write_file;

struct stat status_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
  return status;
}

class Parts : public SealsATree {
 protected:
  Parts() { fs::create_directories(in / "a"); }

  void seal(bool hides = false) const {
    fs::remove_all(sealed);
    Request r = request(Direction::encrypt, in, sealed);
    r.hide_names = hides;
    r.xattrs = xattrs;
    EXPECT_EQ(told(r), Lines{});
  }
  Request opening(const Lines& paths = {}) const {
    Request r = request(Direction::decrypt, sealed, opened);
    r.selection = Selection({}, paths);
    r.xattrs = xattrs;
    return r;
  }
  void open(const Lines& paths = {}) const {
    fs::remove_all(opened);
    EXPECT_EQ(told(opening(paths)), Lines{});
  }
  std::map<std::string, ManifestEntry> entries(ManifestHead* head = nullptr) const {
    std::map<std::string, ManifestEntry> all;
    list_manifest(request(Direction::verify, sealed, ""), {},
                  [&](const ManifestSummary& summary, const ManifestEntry& entry) {
                    if (head) *head = summary.head;
                    all[entry.path] = entry;
                  });
    return all;
  }

  const fs::path opened = root / "opened";
  bool xattrs = false;
};

TEST_F(Parts, AreNotInAManifestOfATreeWithoutThem) {
  write_file(in / "f", "text");
  write_file(in / "zeros", std::string(1 << 20, '\0'));
  seal();
  ManifestHead head;
  entries(&head);
  EXPECT_FALSE(head.has_parts);
  EXPECT_FALSE(head.attributes);
}

class Holes : public Parts {
 protected:
  static constexpr std::int64_t kHole = 1 << 20;

  // Data of one block each at the offsets.
  void make(const std::string& name, const std::vector<std::int64_t>& data, std::int64_t bytes) {
    const core::Descriptor file(::open((in / name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    for (const std::int64_t at : data) {
      core::write_all_at(file.get(), std::string(4096, 'x').data(), 4096,
                         static_cast<std::uint64_t>(at), name);
    }
    ASSERT_EQ(ftruncate(file.get(), bytes), 0);
  }
  void expect_same(const std::string& name) const {
    SCOPED_TRACE(name);
    const struct stat before = status_of(in / name), after = status_of(opened / name);
    EXPECT_EQ(after.st_size, before.st_size);
    EXPECT_LE(after.st_blocks, before.st_blocks + 8);
    EXPECT_TRUE(read_file(opened / name) == read_file(in / name));
  }
};

TEST_F(Holes, StayWhereverTheyAre) {
  const Lines names = {"a/at-the-end", "all", "at-the-begin", "between", "large", "short"};
  make("at-the-begin", {kHole}, kHole + 4096);
  make("between", {0, kHole}, kHole + 4096);
  make("a/at-the-end", {0}, kHole + 5);
  make("all", {}, kHole + 1);
  make("large", {10 * kHole, 30 * kHole + 65536}, 40 * kHole + 3);
  make("short", {}, 10);
  write_file(in / "dense", std::string(kHole, '\0'));
  if (status_of(in / "all").st_blocks > 8) GTEST_SKIP() << "this file system makes no holes";
  for (const bool hides : {false, true}) {
    for (const unsigned count : {1u, 4u}) {
      threads = count;
      seal(hides);
      EXPECT_EQ(verified(), Lines{});
      open();
      for (const std::string& name : names) expect_same(name);
      EXPECT_GE(status_of(opened / "dense").st_blocks, kHole / 512);
    }
  }
  Request again = opening();
  again.resume = true;
  EXPECT_EQ(run_job(again).files_kept, names.size() + 1);
  EXPECT_EQ(run_job(updating()).files_kept, names.size() + 1);
  EXPECT_TRUE(entries()["a/at-the-end"].sparse);
  EXPECT_FALSE(entries()["dense"].sparse);
}

TEST_F(Holes, LetNoChangePass) {
  make("f", {0}, 4 * kHole);
  seal();
  std::string bytes = read_file(sealed / "f");
  bytes[bytes.size() / 2] ^= 1;
  write_file(sealed / "f", bytes);
  EXPECT_EQ(told(opening()).size(), 1u);
  EXPECT_FALSE(fs::exists(opened / "f"));
}

class Names : public Parts {
 protected:
  Names() {
    write_file(in / "m", "one file");
    fs::create_hard_link(in / "m", in / "a/x");
    fs::create_hard_link(in / "m", in / "z");
    write_file(root / "outside", "elsewhere");
    fs::create_hard_link(root / "outside", in / "to-outside");
    write_file(in / "single", "single");
  }

  static bool are_one(const fs::path& a, const fs::path& b) { return fs::equivalent(a, b); }
};

TEST_F(Names, OfOneFileStayNamesOfOne) {
  for (const bool hides : {false, true}) {
    seal(hides);
    EXPECT_EQ(verified(), Lines{});
    EXPECT_EQ(verified_quickly(), Lines{});
    EXPECT_EQ(entries()["m"].same_as, "a/x");  // which comes first
    EXPECT_EQ(entries()["z"].same_as, "a/x");
    EXPECT_EQ(entries()["to-outside"].same_as, "");
    open();
    EXPECT_EQ(everything(opened), everything(in));
    EXPECT_EQ(status_of(opened / "m").st_nlink, 3u);
    EXPECT_TRUE(are_one(opened / "m", opened / "a/x"));
    EXPECT_TRUE(are_one(opened / "z", opened / "a/x"));
    EXPECT_EQ(status_of(opened / "to-outside").st_nlink, 1u);
    Request again = opening();
    again.resume = true;
    EXPECT_EQ(told(again), Lines{});
    EXPECT_EQ(status_of(opened / "m").st_nlink, 3u);
  }
}

TEST_F(Names, AreFilesWhereTheOthersAreNotTaken) {
  seal();
  open({"m"});
  EXPECT_EQ(read_file(opened / "m"), "one file");
  EXPECT_EQ(status_of(opened / "m").st_nlink, 1u);
  open({"m", "z", "single"});
  EXPECT_TRUE(are_one(opened / "m", opened / "z"));
  Request r = request(Direction::encrypt, in, sealed);
  r.force = true;
  r.selection = Selection({"/m", "/z"});
  EXPECT_EQ(told(r), Lines{});
  EXPECT_EQ(entries()["a/x"].has_names, false);
}

TEST_F(Names, FollowWhatAnUpdateFinds) {
  seal();
  fs::remove(in / "m");
  write_file(in / "m", "another file");
  EXPECT_EQ(told(updating()), Lines{});
  EXPECT_EQ(entries()["m"].same_as, "");
  EXPECT_EQ(entries()["z"].same_as, "a/x");
  open();
  EXPECT_EQ(read_file(opened / "m"), "another file");
  EXPECT_TRUE(are_one(opened / "a/x", opened / "z"));
  const auto generation = [&] {
    ManifestHead head;
    entries(&head);
    return head.generation;
  };
  const std::uint64_t before = generation();
  EXPECT_EQ(told(updating()), Lines{});
  EXPECT_EQ(generation(), before);
}

TEST_F(Names, ReplaceWhatIsThereOnlyIfAsked) {
  seal();
  open();
  const auto put_others = [&] {
    for (const char* name : {"m", "z"}) fs::remove(opened / name);
    write_file(opened / "m", "mine");
    fs::create_directory(opened / "z");
  };
  put_others();
  Request r = opening();
  r.force = true;
  EXPECT_EQ(told(r), Lines{"z: damaged"});  // a directory stays
  EXPECT_TRUE(are_one(opened / "m", opened / "a/x"));
  EXPECT_TRUE(fs::is_directory(opened / "z"));
}

TEST_F(Names, OfAFileThatIsDamagedAreNotGivenToWhatIsThere) {
  seal();
  open();
  std::string bytes = read_file(sealed / "a/x");
  bytes[bytes.size() - 20] ^= 1;
  write_file(sealed / "a/x", bytes);
  write_file(opened / "a/x", "old");
  fs::remove(opened / "m");
  Request r = opening();
  r.force = true;
  EXPECT_EQ(told(r), (Lines{"m: damaged", "z: damaged", "a/x: damaged"}));
  EXPECT_FALSE(fs::exists(opened / "m"));
  open({"m", "z"});  // which have what is whole
  EXPECT_EQ(read_file(opened / "m"), "one file");
}

class Extended : public Parts {
 protected:
  Extended() { xattrs = true; }

  static bool set(const fs::path& path, const char* name, const std::string& value) {
    return setxattr(path.c_str(), name, value.data(), value.size(), 0) == 0;
  }
  static std::string get(const fs::path& path, const char* name) {
    char value[1000];
    const ssize_t bytes = getxattr(path.c_str(), name, value, sizeof value);
    return bytes < 0 ? "none" : std::string(value, static_cast<std::size_t>(bytes));
  }
  // Read and write for a user, within a mask of what the mode says.
  static std::string list_of_access(unsigned mask) {
    std::string list("\2\0\0\0", 4);
    const auto add = [&](unsigned tag, unsigned permissions, std::uint32_t id) {
      for (const auto& [value, width] : {std::pair(tag, 2), {permissions, 2}, {id, 4}}) {
        for (int i = 0; i < width; ++i) list += static_cast<char>(value >> (8 * i));
      }
    };
    add(1, 6, ~0u);
    add(2, 6, 12345);
    add(4, 4, ~0u);
    add(16, mask, ~0u);
    add(32, 0, ~0u);
    return list;
  }
};

TEST_F(Extended, AttributesComeBackIfBothSidesAsk) {
  write_file(in / "f", "text");
  write_file(in / "read-only", "text");
  if (!set(in / "f", "user.b", "value")) GTEST_SKIP() << "no attributes on this file system";
  ASSERT_TRUE(set(in / "f", "user.a", std::string("\0\n", 2)));
  ASSERT_TRUE(set(in / "read-only", "user.r", ""));
  ASSERT_TRUE(set(in / "a", "user.of-directory", "d"));
  fs::permissions(in / "read-only", fs::perms{0444});
  for (const bool hides : {false, true}) {
    seal(hides);
    open();
    EXPECT_EQ(everything(opened), everything(in));
    EXPECT_EQ(get(opened / "f", "user.a"), std::string("\0\n", 2));
    EXPECT_EQ(get(opened / "f", "user.b"), "value");
    EXPECT_EQ(get(opened / "read-only", "user.r"), "");
    EXPECT_EQ(get(opened / "a", "user.of-directory"), "d");
  }
  Request without = opening();
  without.xattrs = false;
  without.force = true;
  EXPECT_EQ(told(without), Lines{});
  EXPECT_EQ(get(opened / "f", "user.b"), "none");
  without.force = false;
  without.resume = without.xattrs = true;  // makes anew what lacks them
  EXPECT_EQ(told(without), Lines{});
  EXPECT_EQ(get(opened / "f", "user.b"), "value");
}

TEST_F(Extended, AttributesStayInATreeThatIsUpdated) {
  write_file(in / "f", "text");
  if (!set(in / "f", "user.b", "value")) GTEST_SKIP() << "no attributes on this file system";
  xattrs = false;
  seal();
  EXPECT_EQ(entries()["f"].attributes.size(), 0u);
  xattrs = true;
  seal();
  ASSERT_TRUE(set(in / "f", "user.b", "changed"));  // and no time that anybody looks at
  EXPECT_EQ(told(updating()), Lines{});
  open();
  EXPECT_EQ(get(opened / "f", "user.b"), "changed");
}

TEST_F(Extended, ListsOfAccessComeBackWithinTheMode) {
  write_file(in / "f", "text");
  const char* const kAccess = "system.posix_acl_access";
  if (!set(in / "f", kAccess, list_of_access(6))) GTEST_SKIP() << "no lists of access here";
  ::umask(027);
  seal();
  open();
  EXPECT_EQ(get(opened / "f", kAccess), list_of_access(4));
  Request all = opening();
  all.force = all.preserve = true;
  EXPECT_EQ(told(all), Lines{});
  EXPECT_EQ(get(opened / "f", kAccess), list_of_access(6));
}

}  // namespace
}  // namespace tabane::encrypt
