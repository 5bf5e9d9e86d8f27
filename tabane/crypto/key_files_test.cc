#include "tabane/crypto/key_files.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"
#include "tabane/core/files_test.h"
#include "tabane/core/scratch_folder.h"

namespace tabane::crypto {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<std::string>;

class KeyFilesTest : public testing::Test {
 protected:
  KeyFilesTest() {
    fs::create_directories(root / "in/deep");
    for (const char* name : {"in/deep/key", "other", "public"}) core::write_file(root / name, name);
    fs::create_symlink("in/deep/key", root / "link");
    files.add((root / "link").string());
    files.add((root / "public").string(), false);
    files.add((root / "missing").string());
    files.add(std::string("/dev/null"));
    files.add(std::optional<std::string>());
  }

  const core::ScratchFolder folder{"tabane-test"};
  const fs::path root = folder.path();
  KeyFiles files;
};

TEST_F(KeyFilesTest, AreKnownByAnyName) {
  fs::create_hard_link(root / "in/deep/key", root / "alias");
  for (const char* name : {"in/deep/key", "link", "alias", "public"}) {
    EXPECT_THROW(files.require_none("--json", root / name), core::UsageError) << name;
  }
  for (const char* name : {"other", "missing", "in"}) files.require_none("--json", root / name);
  files.require_none("--json", "/dev/null");
  const core::Descriptor deep = core::open_directory(root / "in/deep");
  const core::Descriptor top = core::open_directory(root);
  ASSERT_NE(files.find(deep.get(), "key"), nullptr);
  EXPECT_EQ(*files.find(deep.get(), "key"), root / "link");
  EXPECT_EQ(files.find(top.get(), "link"), nullptr);  // what a file would replace
  EXPECT_EQ(files.find(top.get(), "other"), nullptr);
}

TEST_F(KeyFilesTest, ThatAreSecretAreFoundInATree) {
  for (const char* place : {"in", "in/deep", "in/deep/key", ""}) {
    EXPECT_EQ(files.inside(root / place), Paths{(root / "link").string()}) << place;
  }
  EXPECT_EQ(files.inside(root / "other"), Paths{});
  EXPECT_EQ(files.inside(root / "missing"), Paths{});
}

}  // namespace
}  // namespace tabane::crypto
