#include "tabane/lab/commands/others_load.h"

#include <gtest/gtest.h>

#include <ctime>

#include "tabane/core/fake_machine.h"

namespace tabane::lab {
namespace {

TEST(OthersLoad, IsWhatIsBusyOfAllPus) {
  core::FakeMachine machine;
  machine.file("/proc/stat", "cpu 100 0 100 800 10 0 0 50 0 0\ncpu0 1\ncpu1 1\nintr 5\n");
  const OthersLoad load(core::SystemFiles(machine.root()));
  EXPECT_FALSE(load.busy_pus());  // no time has passed
  machine.file("/proc/stat",
               "cpu 100100 0 50100 300800 10 0 0 50050 0 0\ncpu0 1\ncpu1 1\nintr 5\n");
  ASSERT_TRUE(load.busy_pus());
  EXPECT_NEAR(*load.busy_pus(), 2 * 0.4, 0.01);  // but for what this test itself takes
}

TEST(OthersLoad, IsNotToldWhereTheSystemDoesNot) {
  core::FakeMachine machine;
  EXPECT_FALSE(OthersLoad(core::SystemFiles(machine.root())).busy_pus());
  machine.file("/proc/stat", "cpu 1 2 3\n");
  EXPECT_FALSE(OthersLoad(core::SystemFiles(machine.root())).busy_pus());
}

// What this process does is none of others.
TEST(OthersLoad, IsWithoutWhatThisProcessDoes) {
  core::FakeMachine machine;
  machine.file("/proc/stat", "cpu 0 0 0 0 0 0 0 0\ncpu0 1\n");
  const OthersLoad load(core::SystemFiles(machine.root()));
  const std::clock_t end = std::clock() + CLOCKS_PER_SEC / 2;
  while (std::clock() < end) {
  }
  machine.file("/proc/stat", "cpu 40 0 0 60 0 0 0 0\ncpu0 1\n");
  EXPECT_EQ(load.busy_pus(), 0);
}

}  // namespace
}  // namespace tabane::lab
