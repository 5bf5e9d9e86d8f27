#include "tabane/core/system_files.h"

#include <gtest/gtest.h>

#include "tabane/core/fake_machine_test.h"

namespace tabane::core {
namespace {

TEST(SystemFiles, GiveNullForWhatIsMissing) {
  const FakeMachine machine;
  const SystemFiles files(machine.root());
  EXPECT_FALSE(files.text("/proc/version"));
  EXPECT_FALSE(files.number("/proc/version"));
  EXPECT_FALSE(files.field("/proc/meminfo", "MemTotal"));
  EXPECT_FALSE(files.choice("/sys/x"));
  EXPECT_TRUE(files.names("/sys").empty());
  EXPECT_FALSE(files.exists("/sys"));
}

TEST(SystemFiles, TrimTextAndTakeAnEmptyFileAsNull) {
  FakeMachine machine;
  machine.file("/a", " one two \n").file("/empty", "\n").file("/n", "42\n").file("/word", "max\n");
  const SystemFiles files(machine.root());
  EXPECT_EQ(files.text("/a"), "one two");
  EXPECT_FALSE(files.text("/empty"));
  EXPECT_EQ(files.number("/n"), 42);
  EXPECT_FALSE(files.number("/word"));
  EXPECT_FALSE(files.text("/"));
}

TEST(SystemFiles, FindAFieldWithAColonOrASpaceByItsWholeName) {
  FakeMachine machine;
  machine.file("/m",
               "MemTotalX: 1 kB\nMemTotal:   2 kB\nmodel name\t: A B\nnr_throttled 7\nnone:\n");
  const SystemFiles files(machine.root());
  EXPECT_EQ(files.field_number("/m", "MemTotal"), 2048);
  EXPECT_EQ(files.field("/m", "model name"), "A B");
  EXPECT_EQ(files.field_number("/m", "nr_throttled"), 7);
  EXPECT_FALSE(files.field("/m", "nr"));
}

TEST(SystemFiles, TakeTheChoiceInBrackets) {
  FakeMachine machine;
  machine.file("/thp", "always [madvise] never\n").file("/plain", "on\n");
  const SystemFiles files(machine.root());
  EXPECT_EQ(files.choice("/thp"), "madvise");
  EXPECT_EQ(files.choice("/plain"), "on");
}

TEST(SystemFiles, ListNamesInOrder) {
  FakeMachine machine;
  machine.file("/d/b", "1").file("/d/a", "1").file("/d/c/x", "1");
  const std::vector<std::string> expected = {"a", "b", "c"};
  EXPECT_EQ(SystemFiles(machine.root()).names("/d"), expected);
}

}  // namespace
}  // namespace tabane::core
