#include "tabane/lab/survey/stolen_time.h"

#include <gtest/gtest.h>

#include "tabane/core/fake_machine.h"

namespace tabane::lab {
namespace {

void write_stat(core::FakeMachine& machine, const std::string& line) {
  machine.file("/proc/stat", line + "\ncpu0 1 1 1 1 1 1 1 1\n");
}

void write_throttled(core::FakeMachine& machine, int times, int microseconds) {
  machine.file("/proc/self/cgroup", "0::/job\n")
      .file("/sys/fs/cgroup/job/cpu.stat", "nr_throttled " + std::to_string(times) +
                                               "\nthrottled_usec " + std::to_string(microseconds) +
                                               "\n");
}

TEST(StolenTime, IsSilentWhereNobodyTookAny) {
  core::FakeMachine machine;
  write_stat(machine, "cpu 100 0 100 800 0 0 0 50 0 0");
  const StolenTime stolen(core::SystemFiles(machine.root()));
  write_stat(machine, "cpu 200 0 200 1600 0 0 0 50 0 0");
  EXPECT_TRUE(stolen.warnings().empty());
}

TEST(StolenTime, TellsTheShareThatOtherVirtualMachinesTook) {
  core::FakeMachine machine;
  write_stat(machine, "cpu 100 0 100 800 0 0 0 50 0 0");
  const StolenTime stolen(core::SystemFiles(machine.root()));
  write_stat(machine, "cpu 500 0 200 1100 0 0 0 250 0 0");  // 200 of 1000
  const auto warnings = stolen.warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].id, "stolen");
  EXPECT_NE(warnings[0].seen.find("20 %"), std::string::npos) << warnings[0].seen;
}

TEST(StolenTime, TellsHowOftenAControlGroupStoppedTheProgram) {
  core::FakeMachine machine;
  write_throttled(machine, 5, 100000);
  const StolenTime stolen(core::SystemFiles(machine.root()));
  write_throttled(machine, 42, 2100000);
  const auto warnings = stolen.warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].id, "throttled");
  EXPECT_NE(warnings[0].seen.find("37 times"), std::string::npos) << warnings[0].seen;
  EXPECT_NE(warnings[0].seen.find("2.00 s"), std::string::npos) << warnings[0].seen;
}

}  // namespace
}  // namespace tabane::lab
