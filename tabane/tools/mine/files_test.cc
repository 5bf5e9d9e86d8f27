#include "tabane/tools/mine/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/files_test.h"
#include "tabane/core/temporary_file.h"

namespace tabane::mine {
namespace {

TEST(OutputStream, IsThereOnceItIsWhole) {
  const core::ScratchFolder folder("output-stream");
  const std::string large(3 << 20, 'x');
  {
    OutputStream out(folder / "whole", 0600);
    out.write("first ");
    out.write(large);
    out.write(" last");
    EXPECT_FALSE(std::filesystem::exists(folder / "whole"));
    out.finish();
  }
  EXPECT_EQ(core::read_file(folder / "whole"), "first " + large + " last");
  struct stat seen {};
  ASSERT_EQ(::stat((folder / "whole").c_str(), &seen), 0);
  EXPECT_EQ(seen.st_mode & 0777, 0600);
}

TEST(OutputStream, ThatIsNotFinishedLeavesNothing) {
  const core::ScratchFolder folder("output-stream");
  { OutputStream(folder / "half", 0666).write("half"); }
  EXPECT_TRUE(core::names_in(folder.path()).empty());
}

TEST(OutputStream, ReplacesOnlyWhereItMay) {
  const core::ScratchFolder folder("output-stream");
  core::write_file(folder / "there", "old");
  EXPECT_THROW(OutputStream(folder / "there", 0666, Replace::no), core::SystemError);
  OutputStream out(folder / "there", 0666);
  out.write("new");
  out.finish();
  EXPECT_EQ(core::read_file(folder / "there"), "new");
}

}  // namespace
}  // namespace tabane::mine
