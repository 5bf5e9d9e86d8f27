#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tabane/core/file.h"
#include "tabane/core/files_test.h"
#include "tabane/core/temporary_file.h"
#include "tabane/tools/encrypt/manifest_compare.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class Walk : public testing::Test {
 protected:
  Tree scanned() const { return scan(core::open_directory(folder.path()).get(), {}); }

  const core::ScratchFolder folder{"tabane-test"};
};

// Each entry as the letter of its kind and its path; checks index and directory against the tree.
Names walked(const Tree& tree) {
  Names entries;
  TreeWalk walk(tree);
  while (walk.next()) {
    const std::uint32_t i = walk.index();
    if (walk.kind() == EntryKind::directory) {
      EXPECT_EQ(tree.path(i), walk.path());
      EXPECT_EQ(walk.directory(), i);
      entries.push_back("d " + walk.path());
    } else if (walk.kind() == EntryKind::file) {
      EXPECT_EQ(tree.path(tree.files[i]), walk.path());
      EXPECT_EQ(walk.directory(), tree.files[i].directory);
      entries.push_back("f " + walk.path());
    } else {
      EXPECT_EQ(tree.path(tree.links[i]), walk.path());
      EXPECT_EQ(walk.directory(), tree.links[i].directory);
      entries.push_back("l " + walk.path());
    }
  }
  EXPECT_FALSE(walk.next());
  return entries;
}

TEST_F(Walk, VisitsAnEmptyRoot) { EXPECT_EQ(walked(scanned()), Names{"d "}); }

TEST_F(Walk, VisitsFilesLinksAndDirectoriesInOneOrder) {
  for (const char* path : {"b/x/deep", "b/z", "e"}) fs::create_directories(folder / path);
  for (const char* path : {"a", "b/y", "b/x/1", "b/x/deep/2", "c", "f", "b-"}) {
    core::write_file(folder / path, "");
  }
  fs::create_symlink("a", folder / "b/a");
  fs::create_symlink("nowhere", folder / "d");
  EXPECT_EQ(walked(scanned()),
            (Names{"d ", "f a", "d b", "l b/a", "d b/x", "f b/x/1", "d b/x/deep", "f b/x/deep/2",
                   "f b/y", "d b/z", "f b-", "f c", "l d", "d e", "f f"}));
}

TEST_F(Walk, GivesAnOrderThatManifestsAccept) {
  unsigned seed = 5;
  Names places = {""};
  for (int i = 0; i < 400; ++i) {
    seed = seed * 1664525u + 1013904223u;
    std::string name = places[(seed >> 8) % places.size()];
    if (!name.empty()) name += '/';
    for (unsigned n = 1 + (seed >> 20) % 3, bits = seed; n > 0; --n, bits /= 7) {
      name += "ab-.0~\xfe"[bits % 7];
    }
    if (name.ends_with('.') || fs::exists(fs::symlink_status(folder / name))) continue;
    if (i % 3 == 0) {
      fs::create_directory(folder / name);
      places.push_back(name);
    } else if (i % 3 == 1) {
      core::write_file(folder / name, "");
    } else {
      fs::create_symlink("x", folder / name);
    }
  }
  const Tree tree = scanned();
  PathOrder order;
  TreeWalk walk(tree);
  std::size_t entries = 0;
  for (; walk.next(); ++entries) ASSERT_EQ(order.refuse(walk.kind(), walk.path()), nullptr);
  EXPECT_EQ(entries, tree.directories.size() + tree.files.size() + tree.links.size());
  EXPECT_GT(entries, 200u);
}

}  // namespace
}  // namespace tabane::encrypt
