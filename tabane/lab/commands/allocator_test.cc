#include "tabane/lab/commands/allocator.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "tabane/core/error.h"
#include "tabane/core/scratch_folder.h"

namespace tabane::program {
namespace {

Lookup variables(std::map<std::string, std::string> set) {
  return [set](const std::string& name) -> std::optional<std::string> {
    const auto found = set.find(name);
    if (found == set.end()) return std::nullopt;
    return found->second;
  };
}

class LibraryDirectory : public testing::Test {
 protected:
  const core::ScratchFolder folder_{"tabane-test"};
  const std::string path_ = folder_.path();
};

TEST_F(LibraryDirectory, GivesTheLibraryOfTheSameKindAsThisProgram) {
  std::filesystem::copy_file("/proc/self/exe", path_ + "/libjemalloc.so.2");
  EXPECT_EQ(find_allocator("jemalloc", {"/nonexistent", path_}), path_ + "/libjemalloc.so.2");
}

TEST_F(LibraryDirectory, SkipsWhatIsNotALibraryAndNamesThePackage) {
  std::ofstream(path_ + "/libmimalloc.so.2") << "INPUT(libmimalloc.so.2.0) and more text";
  try {
    find_allocator("mimalloc", {path_});
    FAIL();
  } catch (const core::UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("libmimalloc2.0"), std::string::npos);
  }
}

TEST(FindAllocator, NeedsNoLibraryForGlibcAndRefusesUnknownNames) {
  EXPECT_EQ(find_allocator("glibc", {}), "");
  EXPECT_THROW(find_allocator("hoard", {}), core::UsageError);
  EXPECT_THROW(find_allocator("tcmalloc", {}), core::UsageError);
}

TEST(LibraryDirectories, StartWithTheUsersOwn) {
  const auto directories = library_directories(variables({{"LD_LIBRARY_PATH", "/a::/b"}}));
  ASSERT_GE(directories.size(), 3u);
  EXPECT_EQ(directories[0], "/a");
  EXPECT_EQ(directories[1], "/b");
  EXPECT_EQ(directories.back(), "/lib");
}

TEST(HugePageSwitch, IsAddedToWhatTheUserHasSet) {
  EXPECT_EQ(huge_page_switch("", variables({}))->value, "glibc.malloc.hugetlb=1");
  const auto tunables =
      huge_page_switch("glibc", variables({{"GLIBC_TUNABLES", "glibc.malloc.check=1"}}));
  EXPECT_EQ(tunables->name, "GLIBC_TUNABLES");
  EXPECT_EQ(tunables->value, "glibc.malloc.check=1:glibc.malloc.hugetlb=1");
  EXPECT_FALSE(tunables->kept);
  EXPECT_EQ(huge_page_switch("jemalloc", variables({{"MALLOC_CONF", "narenas:2"}}))->value,
            "narenas:2,thp:always");
}

TEST(HugePageSwitch, LeavesTheUsersOwnChoice) {
  for (const auto& [allocator, name, value] :
       {std::tuple{"glibc", "GLIBC_TUNABLES", "glibc.malloc.hugetlb=2"},
        {"jemalloc", "MALLOC_CONF", "thp:never"},
        {"mimalloc", "MIMALLOC_LARGE_OS_PAGES", "0"}}) {
    const auto assignment = huge_page_switch(allocator, variables({{name, value}}));
    ASSERT_TRUE(assignment);
    EXPECT_TRUE(assignment->kept);
    EXPECT_EQ(assignment->value, value);
  }
}

TEST(HugePageSwitch, IsMissingWhereTheAllocatorHasNone) {
  EXPECT_FALSE(huge_page_switch("tcmalloc", variables({})));
}

}  // namespace
}  // namespace tabane::program
