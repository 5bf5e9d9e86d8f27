#include "tabane/core/temporary_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tabane/core/error.h"
#include "tabane/core/files_test.h"
#include "tabane/core/scratch_folder.h"

namespace tabane::core {
namespace {

namespace fs = std::filesystem;

class Temporary : public testing::Test {
 protected:
  std::set<std::string> names() const { return names_in(place_); }

  const ScratchFolder folder_{"tabane-test"};
  const fs::path place_ = folder_.path();
  const Descriptor directory_ = open_directory(place_);
};

TEST(TemporaryName, HasPrefixSixteenLowerHexadecimalDigitsAndSuffixExactly) {
  EXPECT_TRUE(is_temporary_name(".tabane-0123456789abcdef.part"));
  EXPECT_TRUE(is_temporary_name(".tabane-0000000000000000.part"));
  for (const char* other :
       {"", ".tabane-.part", ".tabane-0123456789abcde.part", ".tabane-0123456789abcdef0.part",
        ".tabane-0123456789ABCDEF.part", ".tabane-0123456789abcdeg.part",
        ".tabane-0123456789abcdef.par", ".tabane-0123456789abcdef.part~",
        " .tabane-0123456789abcdef.part", "tabane-0123456789abcdef.part",
        ".tabane_0123456789abcdef.part", ".tabane-0123456789abcdef-part"}) {
    EXPECT_FALSE(is_temporary_name(other)) << other;
  }
  EXPECT_FALSE(is_temporary_name(std::string_view(".tabane-0123456789abcde\0.part", 29)));
}

TEST_F(Temporary, HasATemporaryNameUntilItIsRenamed) {
  TemporaryFile file(directory_.get(), "final", 0600);
  ASSERT_EQ(names().size(), 1u);
  EXPECT_TRUE(is_temporary_name(*names().begin()));
  write_all(file.fd(), "text", 4, "final");
  file.rename(false);
  EXPECT_EQ(names(), std::set<std::string>{"final"});
  EXPECT_EQ(read_file(place_ / "final"), "text");
}

TEST_F(Temporary, IsRemovedIfItIsNotRenamed) {
  { TemporaryFile(directory_.get(), "final", 0600); }
  EXPECT_TRUE(names().empty());
}

TEST_F(Temporary, ReplacesOnlyARegularFileAndOnlyIfAsked) {
  write_file(place_ / "final", "old");
  TemporaryFile refused(directory_.get(), "final", 0600);
  EXPECT_THROW(refused.rename(false), SystemError);
  EXPECT_EQ(read_file(place_ / "final"), "old");
  TemporaryFile(directory_.get(), "final", 0600).rename(true);
  EXPECT_EQ(read_file(place_ / "final"), "");
}

// So many descriptors that there is no other.
class NoDescriptorLeft {
 public:
  NoDescriptorLeft() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{64, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
    do {
      held_.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    } while (held_.back().valid());
  }
  ~NoDescriptorLeft() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
  std::vector<Descriptor> held_;
};

TEST_F(Temporary, KeepsItsTemporaryNameIfItCannotStayLocked) {
  TemporaryFile file(directory_.get(), "final", 0600, "folder/final");
  try {
    const NoDescriptorLeft none;
    file.rename(false);
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_EQ(error.code(), EMFILE);
    EXPECT_NE(std::string(error.what()).find("folder/final"), std::string::npos) << error.what();
  }
  ASSERT_EQ(names().size(), 1u);
  EXPECT_TRUE(is_temporary_name(*names().begin()));
}

TEST_F(Temporary, NeverReplacesALinkOrAFifo) {
  write_file(place_ / "target", "kept");
  fs::create_symlink("target", place_ / "link");
  ASSERT_EQ(::mkfifo((place_ / "fifo").c_str(), 0600), 0);
  for (const char* name : {"link", "fifo"}) {
    EXPECT_THROW(TemporaryFile(directory_.get(), name, 0600).rename(true), Error) << name;
  }
  EXPECT_TRUE(fs::is_symlink(place_ / "link"));
  EXPECT_TRUE(fs::is_fifo(place_ / "fifo"));
  EXPECT_EQ(read_file(place_ / "target"), "kept");
  EXPECT_EQ(names().size(), 3u);
}

}  // namespace
}  // namespace tabane::core
