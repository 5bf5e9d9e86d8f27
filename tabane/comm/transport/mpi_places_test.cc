#include "tabane/comm/transport/mpi_places.h"

#include <gtest/gtest.h>

#include "tabane/core/file.h"
#include "tabane/core/scratch_folder.h"

namespace tabane::comm {
namespace {

namespace fs = std::filesystem;

TEST(ModuleDirectory, IsThatOfTheBuildOnlyForProgramsThere) {
  const fs::path built = module_directory(fs::read_symlink("/proc/self/exe"));
  for (const fs::path program :
       {"/usr/bin/tabane", "/home/someone/bin/program", "/tmp/program", ""}) {
    const fs::path installed = module_directory(program);
    EXPECT_NE(installed, built);
    EXPECT_TRUE(installed.is_absolute());
    EXPECT_EQ(installed, module_directory("/usr/bin/tabane")) << program;
  }
}

class Distrust : public testing::Test {
 protected:
  Distrust() {
    fs::create_directories(module.parent_path());
    core::write_file(module, "");
    fs::permissions(module.parent_path(), fs::perms{0755});
    fs::permissions(module, fs::perms{0755});
  }

  const core::ScratchFolder folder{"tabane-test"};
  const fs::path module = folder.path() / "lib/tabane/module.so";
};

TEST_F(Distrust, IsNotOfWhatOnlyItsOwnerWrites) { EXPECT_EQ(distrust_of(module, ""), ""); }

TEST_F(Distrust, IsOfFilesAndFoldersThatAllMayWrite) {
  for (const fs::path& open : {module, module.parent_path(), module.parent_path().parent_path()}) {
    const fs::perms before = fs::status(open).permissions();
    fs::permissions(open, fs::perms{0777});
    EXPECT_EQ(distrust_of(module, ""), "others can write to " + open.string());
    fs::permissions(open, before);
  }
  fs::permissions(module.parent_path(), fs::perms{01777});
  EXPECT_EQ(distrust_of(module, ""), "");
}

TEST_F(Distrust, LooksWhereALinkLeads) {
  const fs::path link = folder.path() / "link.so";
  fs::create_symlink(module, link);
  fs::permissions(module.parent_path(), fs::perms{0777});
  EXPECT_EQ(distrust_of(link, ""), "others can write to " + module.parent_path().string());
  fs::remove(module);
  EXPECT_NE(distrust_of(link, ""), "");
}

}  // namespace
}  // namespace tabane::comm
