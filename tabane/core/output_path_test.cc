#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>

#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/core/temporary_file.h"

namespace tabane::core {
namespace {

namespace fs = std::filesystem;

class Output : public testing::Test {
 protected:
  fs::path path(const std::string& name) const { return folder_ / name; }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }

  // What arrives in a pipe when the bytes are written to link → /proc/self/fd/(its end).
  std::string through_pipe(const std::string& bytes) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const Descriptor reader(ends[0]);
    Descriptor writer(ends[1]);
    fs::create_symlink("/proc/self/fd/" + std::to_string(writer.get()), path("link"));
    write_output(path("link"), bytes);
    writer.reset();
    return read_to_end(reader.get(), "pipe");
  }

  const ScratchFolder folder_{"tabane-test"};
};

TEST_F(Output, KnowsTheFolderOfAPath) {
  const Descriptor folder = open_parent(path("none"), "none");
  const Descriptor here = open_parent("none", "none");
  EXPECT_TRUE(leads_to(folder_.path(), folder.get()));
  EXPECT_TRUE(leads_to(".", here.get()));
  EXPECT_THROW(open_parent(path("none") / "x", "shown"), SystemError);
}

TEST_F(Output, MakesAndReplacesRegularFiles) {
  write_output(path("new"), "one");
  EXPECT_EQ(read_file(path("new")), "one");
  write_output(path("new"), "two");
  EXPECT_EQ(read_file(path("new")), "two");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Output, HasNoNameUntilItIsWhole) {
  const Descriptor folder = open_parent(path("new"), "new");
  if (!unnamed_files_get_names(folder.get())) GTEST_SKIP() << "not on this file system";
  for (const unsigned before : {0u, 1u}) {
    write_output(path("new"), [&](const auto& put) {
      put("one ");
      EXPECT_EQ(entries(), before);
      put(std::to_string(before));
    });
    EXPECT_EQ(read_file(path("new")), "one " + std::to_string(before));
    EXPECT_EQ(entries(), 1u);
  }
}

TEST_F(Output, KeepsTheModeOfWhatItReplaces) {
  const mode_t before = ::umask(022);
  for (const fs::perms mode : {fs::perms{0600}, fs::perms{0666}, fs::perms{0775}}) {
    write_file(path("file"), "old");
    fs::permissions(path("file"), mode);
    write_output(path("file"), "new");
    EXPECT_EQ(fs::status(path("file")).permissions(), mode);
  }
  write_output(path("new"), "one");
  EXPECT_EQ(fs::status(path("new")).permissions(), fs::perms{0644});
  ::umask(before);
}

TEST_F(Output, ReplacesTheTargetOfALinkAndKeepsTheLink) {
  fs::create_directory(path("other"));
  write_file(path("other/target"), "old");
  fs::create_symlink("other/target", path("second"));
  fs::create_symlink(path("second"), path("first"));
  write_output(path("first"), "new");
  EXPECT_TRUE(fs::is_symlink(path("first")));
  EXPECT_TRUE(fs::is_symlink(path("second")));
  EXPECT_EQ(read_file(path("other/target")), "new");
}

TEST_F(Output, MakesTheTargetOfALinkThatLeadsNowhere) {
  fs::create_symlink("target", path("link"));
  write_output(path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("target")), "new");
}

TEST_F(Output, WritesToALinkToADeviceAndKeepsIt) {
  fs::create_symlink("/dev/null", path("link"));
  EXPECT_TRUE(follow_output_path(path("link")).stream);
  write_output(path("link"), "text");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Output, WritesToAnOpenDescriptorByItsName) {
  EXPECT_EQ(through_pipe("text"), "text");
  EXPECT_TRUE(fs::is_symlink(path("link")));
}

TEST_F(Output, WritesToAnOpenFileWhereItStands) {
  const Descriptor file(::open(path("file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  write_all(file.get(), "before ", 7, "file");
  write_output("/dev/fd/" + std::to_string(file.get()), "and after");
  EXPECT_EQ(read_file(path("file")), "before and after");
  struct stat by_name {
  }, open{};
  ASSERT_EQ(::stat(path("file").c_str(), &by_name), 0);
  ASSERT_EQ(::fstat(file.get(), &open), 0);
  EXPECT_EQ(by_name.st_ino, open.st_ino);  // not replaced
}

TEST_F(Output, IsRefusedByADescriptorForReading) {
  write_file(path("file"), "old");
  const Descriptor file(::open(path("file").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_THROW(write_output("/dev/fd/" + std::to_string(file.get()), "new"), SystemError);
  EXPECT_EQ(read_file(path("file")), "old");
}

TEST_F(Output, GoesThroughAFifo) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = read_file(path("fifo")); });
  write_output(path("fifo"), "text");
  reader.join();
  EXPECT_EQ(read, "text");
  EXPECT_TRUE(fs::is_fifo(path("fifo")));
}

TEST_F(Output, FollowsNoPlantedTemporaryFile) {
  write_file(path("precious"), "kept");
  fs::create_symlink("precious", path("out.part"));
  write_output(path("out"), "text");
  EXPECT_EQ(read_file(path("precious")), "kept");
  EXPECT_EQ(read_file(path("out")), "text");
}

TEST_F(Output, RefusesALoopADirectoryAndAMissingFolder) {
  fs::create_symlink("loop", path("loop"));
  EXPECT_THROW(write_output(path("loop"), ""), SystemError);
  EXPECT_THROW(write_output(folder_.path(), ""), Error);
  EXPECT_THROW(write_output(path("missing/file"), ""), SystemError);
}

TEST_F(Output, ErrorsNameTheWholePath) {
  fs::create_directories(path("folder/taken"));
  const auto error_of = [](const fs::path& file) -> std::string {
    try {
      write_output(file, "text");
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  for (const char* const name : {"folder/taken", "missing/file"}) {
    EXPECT_NE(error_of(path(name)).find(path(name).string()), std::string::npos) << name;
  }
}

TEST_F(Output, LeadsToADescriptorByAnyName) {
  write_file(path("file"), "");
  const Descriptor file(::open(path("file").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(leads_to(path("file"), file.get()));
  EXPECT_TRUE(leads_to("/dev/fd/" + std::to_string(file.get()), file.get()));
  EXPECT_FALSE(leads_to("/dev/null", file.get()));
  EXPECT_FALSE(leads_to(path("missing"), file.get()));
}

}  // namespace
}  // namespace tabane::core
