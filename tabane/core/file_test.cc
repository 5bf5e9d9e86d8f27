#include "tabane/core/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

#include "tabane/core/temporary_file.h"
#include "tabane/core/text_of_error_test.h"

namespace tabane::core {
namespace {

class Files : public testing::Test {
 protected:
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }

 private:
  const ScratchFolder folder_{"tabane-test"};
};

int open_descriptors() {
  int count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

TEST(DescriptorOwner, ClosesWhatItHoldsAndGivesItAwayOnce) {
  const int before = open_descriptors();
  {
    Descriptor first(::open("/dev/null", O_RDONLY));
    Descriptor second(std::move(first));
    EXPECT_FALSE(first.valid());
    EXPECT_TRUE(second.valid());
    Descriptor third(::open("/dev/null", O_RDONLY));
    third = std::move(second);
    EXPECT_EQ(open_descriptors(), before + 1);
    Descriptor& self = third;
    third = std::move(self);
    EXPECT_TRUE(third.valid());
    const int given = third.release();
    EXPECT_FALSE(third.valid());
    EXPECT_EQ(::close(given), 0);
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(Files, WritesAndReadsAtOffsets) {
  const Descriptor file(::open(path("f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  write_all_at(file.get(), "world", 5, 6, "f");
  write_all_at(file.get(), "hello ", 6, 0, "f");
  write_all_at(file.get(), nullptr, 0, 3, "f");
  char bytes[20] = {};
  EXPECT_EQ(read_all_at(file.get(), bytes, 20, 0, "f"), 11u);
  EXPECT_STREQ(bytes, "hello world");
  EXPECT_EQ(read_all_at(file.get(), bytes, 4, 2, "f"), 4u);
  EXPECT_EQ(std::string(bytes, 4), "llo ");
  EXPECT_EQ(read_all_at(file.get(), bytes, 4, 11, "f"), 0u);
  EXPECT_EQ(read_all_at(file.get(), bytes, 4, 1000, "f"), 0u);
}

TEST_F(Files, GoesOnAfterAShortWriteAndTellsWhyItEnds) {
  const Descriptor file(::open(path("f").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const std::vector<char> bytes(8000, 'x');
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 5000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const int code = code_of([&] { write_all_at(file.get(), bytes.data(), bytes.size(), 0, "f"); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(code, EFBIG);
  EXPECT_EQ(std::filesystem::file_size(path("f")), 5000u);
}

TEST_F(Files, NamesWhatCouldNotBeWrittenOrRead) {
  try {
    write_all_at(-1, "x", 1, 0, "a/b");
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_STREQ(error.what(), "a/b: pwrite: Bad file descriptor");
  }
  char byte = 0;
  try {
    read_all_at(-1, &byte, 1, 0, "a/b");
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_STREQ(error.what(), "a/b: pread: Bad file descriptor");
  }
}

TEST_F(Files, AreWrittenAndReadAsAWhole) {
  for (const std::size_t bytes : {0u, 1u, 4095u, 4096u, 4097u, 3'000'000u}) {
    const std::string text(bytes, 'x');
    write_file(path("f"), text);
    EXPECT_EQ(read_file(path("f")), text);
  }
}

TEST_F(Files, LoseWhatWasInThemWhenTheyAreWrittenAnew) {
  write_file(path("f"), "a long text");
  write_file(path("f"), "short");
  EXPECT_EQ(read_file(path("f")), "short");
}

TEST_F(Files, ThatTellNoSizeAreReadToTheirEnd) {
  const std::string status = read_file("/proc/self/status");
  EXPECT_TRUE(status.starts_with("Name:"));
  EXPECT_TRUE(status.ends_with("\n"));
  EXPECT_EQ(read_file("/dev/null"), "");
}

TEST_F(Files, ThatCannotBeOpenedAreNamed) {
  EXPECT_EQ(code_of([&] { read_file(path("absent")); }), ENOENT);
  EXPECT_EQ(code_of([&] { write_file(path("absent") / "f", "x"); }), ENOENT);
  EXPECT_EQ(code_of([&] { read_file(path("f").parent_path()); }), EISDIR);
  EXPECT_EQ(code_of([] { write_file("/dev/full", "x"); }), ENOSPC);
  try {
    read_file("/nonexistent/f");
    FAIL();
  } catch (const SystemError& error) {
    EXPECT_STREQ(error.what(), "/nonexistent/f: open: No such file or directory");
  }
}

TEST(Pipes, AreWrittenAndReadPieceByPieceToTheirEnd) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Descriptor out(ends[0]);
  const std::string text(300'000, 'y');  // more than a pipe holds
  std::thread writer(
      [&, in = Descriptor(ends[1])] { write_all(in.get(), text.data(), text.size(), "a pipe"); });
  char first[3];
  EXPECT_EQ(read_all(out.get(), first, sizeof first, "a pipe"), sizeof first);
  EXPECT_EQ(read_to_end(out.get(), "a pipe").size(), text.size() - sizeof first);
  EXPECT_EQ(read_all(out.get(), first, sizeof first, "a pipe"), 0u);
  writer.join();
}

}  // namespace
}  // namespace tabane::core
