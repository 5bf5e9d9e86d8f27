#include "tabane/tools/mine/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tabane/core/error.h"
#include "tabane/core/files_test.h"
#include "tabane/core/temporary_file.h"

namespace tabane::mine {
namespace {

team::Bytes content() {
  team::Bytes bytes(100);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  return bytes;
}

TEST(FramedFile, HasItsPermissions) {
  const core::ScratchFolder folder("framed");
  write_framed(folder / "whole", FileKind::state, content(), 0600, Replace::yes);
  struct stat seen {};
  ASSERT_EQ(::stat((folder / "whole").c_str(), &seen), 0);
  EXPECT_EQ(seen.st_mode & 0777, 0600);
}

TEST(FramedFile, ReplacesOnlyWhereItMay) {
  const core::ScratchFolder folder("framed");
  core::write_file(folder / "there", "old");
  EXPECT_THROW(write_framed(folder / "there", FileKind::state, content(), 0666, Replace::no),
               core::SystemError);
  EXPECT_EQ(core::names_in(folder.path()), std::set<std::string>{"there"});
  EXPECT_EQ(core::read_file(folder / "there"), "old");
  write_framed(folder / "there", FileKind::state, content(), 0666, Replace::yes);
  EXPECT_EQ(read_framed(folder / "there", FileKind::state), content());
}

TEST(FramedFile, EveryFlippedBitIsFound) {
  const core::ScratchFolder folder("framed");
  const std::filesystem::path path = folder / "file";
  write_framed(path, FileKind::query, content(), 0666, Replace::no);
  EXPECT_EQ(read_framed(path, FileKind::query), content());
  const std::string whole = core::read_file(path);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    core::flip_bits(path, at);
    EXPECT_THROW(read_framed(path, FileKind::query), core::UsageError) << at;
    core::write_file(path, whole);
  }
}

TEST(FramedFile, EveryCutIsFound) {
  const core::ScratchFolder folder("framed");
  const std::filesystem::path path = folder / "file";
  const std::string whole = framed(FileKind::query, content());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    core::write_file(path, whole.substr(0, size));
    EXPECT_THROW(read_framed(path, FileKind::query), core::UsageError) << size;
  }
  core::write_file(path, whole + "x");
  EXPECT_THROW(read_framed(path, FileKind::query), core::UsageError);
}

}  // namespace
}  // namespace tabane::mine
