#include "tabane/core/loadable_module.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"

namespace tabane::core {
namespace {

namespace fs = std::filesystem;

class Directory : public testing::Test {
 protected:
  fs::path of(const fs::path& program) const { return module_directory(program, places); }

  const core::ScratchFolder folder{"tabane-test"};
  const fs::path root = fs::canonical(folder.path());
  const ModulePlaces places{root / "link/build", "/build/modules", "../lib/tabane", "/usr/lib/x"};
};

TEST_F(Directory, IsThatOfTheBuildOnlyForProgramsThere) {
  fs::create_directories(root / "real/build/bin");
  fs::create_symlink("real", root / "link");
  EXPECT_EQ(of(root / "real/build/bin/program"), places.built);
  EXPECT_EQ(of(root / "real/build/program"), places.built);
  EXPECT_EQ(of(root / "real/build.of.another/program"), places.installed);
  EXPECT_EQ(of(root / "real/program"), places.installed);
  EXPECT_EQ(of(""), places.installed);
  EXPECT_EQ(of("bin/program"), places.installed);
}

TEST_F(Directory, IsTheOneBesideTheProgramIfThatExists) {
  const fs::path program = root / "prefix/bin/program", beside = root / "prefix/lib/tabane";
  EXPECT_EQ(of(program), places.installed);
  fs::create_directories(beside.parent_path());
  core::write_file(beside, "no directory");
  EXPECT_EQ(of(program), places.installed);
  fs::remove(beside);
  fs::create_directory(beside);
  EXPECT_EQ(of(program), beside);
  EXPECT_EQ(of(root / "other/bin/program"), places.installed);
}

TEST_F(Directory, IsThatOfABuildFolderThatWasMoved) {
  const fs::path program = root / "moved/program";
  fs::create_directories(root / "moved/modules");
  EXPECT_EQ(of(program), root / "moved/modules");
  fs::create_directories(root / "lib/tabane");  // as an installation has it
  EXPECT_EQ(of(program), root / "lib/tabane");
}

TEST(ModulePlaces, AreThoseOfTheBuildForThisProgram) {
  const ModulePlaces& places = module_places();
  EXPECT_EQ(module_directory(this_program(), places), places.built);
  EXPECT_NE(places.built, places.installed);
  EXPECT_TRUE(places.built.is_absolute());
  EXPECT_TRUE(places.installed.is_absolute());
  EXPECT_TRUE(places.from_program.is_relative());
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

TEST_F(Distrust, IsOfWhatBelongsToAnotherUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  constexpr uid_t kAnother = 4711;
  ASSERT_EQ(chown(module.parent_path().c_str(), kAnother, static_cast<gid_t>(-1)), 0);
  EXPECT_EQ(distrust_of(module, ""), module.parent_path().string() + " belongs to user 4711");
  // Whose program it is may also say what that loads.
  const fs::path program = folder.path() / "program";
  core::write_file(program, "");
  ASSERT_EQ(chown(program.c_str(), kAnother, static_cast<gid_t>(-1)), 0);
  EXPECT_EQ(distrust_of(module, program), "");
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
}  // namespace tabane::core
