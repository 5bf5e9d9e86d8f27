#include "tabane/tools/encrypt/selection.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "tabane/core/file.h"
#include "tabane/core/files_test.h"
#include "tabane/core/temporary_file.h"
#include "tabane/tools/encrypt/tree.h"

namespace tabane::encrypt {
namespace {

using Paths = std::vector<std::string>;

// Those of the paths, with '/' at the end of directories, that are taken.
Paths taken(const Selection& selection, const Paths& paths) {
  Paths left;
  for (const std::string& path : paths) {
    const bool directory = path.ends_with('/');
    if (selection.takes(path.substr(0, path.size() - (directory ? 1 : 0)), directory)) {
      left.push_back(path);
    }
  }
  return left;
}

const Paths kPaths = {"a.o", "b/", "b/a.o", "b/c/", "b/c/a.o", "b/c/d", "c", "e/", "e/c/", "e/c/d"};

TEST(Selection, WithoutRulesTakesAll) {
  EXPECT_TRUE(Selection().takes_all());
  EXPECT_EQ(taken(Selection(), kPaths), kPaths);
  EXPECT_FALSE(Selection({"a"}).takes_all());
  EXPECT_FALSE(Selection({}, {"a"}).takes_all());
}

TEST(Selection, HoldsRulesAgainstNamesOrPaths) {
  struct Case {
    Paths rules, left_out;
  };
  for (const Case& c : std::vector<Case>{
           {{"*.o"}, {"a.o", "b/a.o", "b/c/a.o"}},
           {{"/*.o"}, {"a.o"}},
           {{"*/*.o"}, {"b/a.o"}},
           {{"c"}, {"b/c/", "b/c/a.o", "b/c/d", "c", "e/c/", "e/c/d"}},
           {{"c/"}, {"b/c/", "b/c/a.o", "b/c/d", "e/c/", "e/c/d"}},
           {{"b/c/"}, {"b/c/", "b/c/a.o", "b/c/d"}},
           {{"/c/"}, {}},
           {{"./a.o"}, {}},
           {{"\\*.o"}, {}},
       }) {
    Paths rest = kPaths;
    std::erase_if(rest, [&](const std::string& path) {
      return std::ranges::find(c.left_out, path) != c.left_out.end();
    });
    EXPECT_EQ(taken(Selection(c.rules), kPaths), rest) << c.rules[0];
  }
}

TEST(Selection, LetsTheLastRuleThatFitsDecideButNeverBelowADirectoryThatIsLeftOut) {
  EXPECT_EQ(taken(Selection({"*.o", "!/a.o"}), {"a.o", "b/a.o"}), Paths{"a.o"});
  EXPECT_EQ(taken(Selection({"!/a.o", "*.o"}), {"a.o", "b/a.o"}), Paths{});
  EXPECT_EQ(taken(Selection({"b", "!b/c"}), {"b/", "b/c/", "b/c/d"}), Paths{});
  EXPECT_EQ(taken(Selection({"b/*", "!b/c"}), kPaths),
            (Paths{"a.o", "b/", "b/c/", "b/c/a.o", "b/c/d", "c", "e/", "e/c/", "e/c/d"}));
  EXPECT_EQ(taken(Selection({"\\!a"}), {"!a", "a"}), Paths{"a"});
}

TEST(Selection, NeverLeavesOutTheRoot) {
  EXPECT_FALSE(Selection({"*"}).leaves_out("", true));
  EXPECT_FALSE(Selection({}, {"a"}).leaves_out("", true));
}

TEST(Selection, TakesWhatIsNamedWithAllBelowIt) {
  EXPECT_EQ(taken(Selection({}, {"b/c"}), kPaths), (Paths{"b/c/", "b/c/a.o", "b/c/d"}));
  EXPECT_EQ(taken(Selection({}, {"./b/c/"}), kPaths), (Paths{"b/c/", "b/c/a.o", "b/c/d"}));
  EXPECT_EQ(taken(Selection({}, {"*/c"}), kPaths),
            (Paths{"b/c/", "b/c/a.o", "b/c/d", "e/c/", "e/c/d"}));
  EXPECT_EQ(taken(Selection({}, {"*.o", "e/c/d"}), kPaths), (Paths{"a.o", "e/c/d"}));
  EXPECT_EQ(taken(Selection({"*.o"}, {"b"}), kPaths), (Paths{"b/", "b/c/", "b/c/d"}));
  EXPECT_EQ(taken(Selection({}, {"x[1]"}), {"x1", "x[1]", "x[2]"}), (Paths{"x1", "x[1]"}));
}

TEST(Selection, GoesThroughDirectoriesThatLeadToWhatIsNamed) {
  const Selection selection({}, {"b/*/d"});
  EXPECT_FALSE(selection.leaves_out("b", true));
  EXPECT_FALSE(selection.leaves_out("b/c", true));
  EXPECT_FALSE(selection.takes("b", true));
  EXPECT_TRUE(selection.leaves_out("b", false));
  EXPECT_TRUE(selection.leaves_out("e", true));
  EXPECT_TRUE(selection.leaves_out("b/c/a.o", false));
  EXPECT_FALSE(selection.leaves_out("b/c/d", false));
  EXPECT_FALSE(selection.leaves_out("b/c/d/e", false));
}

TEST(Selection, StaysInOneFileSystem) {
  struct stat devices {
  }, memory{};
  if (::stat("/dev", &devices) != 0 || ::stat("/dev/shm", &memory) != 0 ||
      devices.st_dev == memory.st_dev) {
    GTEST_SKIP() << "no file system is mounted on /dev/shm";
  }
  const core::ScratchFolder folder("tabane-test", "/dev/shm");
  core::write_file(folder / "f", "");
  const core::Descriptor root = core::open_directory("/dev");
  const auto shared = [&](const Tree& tree) {
    Paths paths;
    for (std::uint32_t i = 1; i < tree.directories.size(); ++i) {
      if (tree.path(i).starts_with("shm")) paths.push_back(tree.path(i));
    }
    for (const TreeFile& file : tree.files) {
      if (tree.path(file).starts_with("shm")) paths.push_back(tree.path(file));
    }
    return paths;
  };
  EXPECT_GE(shared(scan(root.get(), {})).size(), 4u);
  const Tree tree = scan(root.get(), Selection({}, {}, true));
  EXPECT_EQ(shared(tree), Paths{"shm"});
  EXPECT_GE(tree.excluded, 1u);
}

}  // namespace
}  // namespace tabane::encrypt
