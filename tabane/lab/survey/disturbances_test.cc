#include "tabane/lab/survey/disturbances.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/core/fake_machine_test.h"

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

std::vector<std::string> warning_ids(const Record& record) {
  std::vector<std::string> found;
  for (const Warning& warning : record.warnings) found.push_back(warning.id);
  return found;
}

TEST(Disturbances, AreToldOfTheMachineBeforeAndOfTheSamplesAfterwards) {
  Record record;
  record.kind = Kind::study;
  const Disturbances disturbances(record, {.running = 3}, core::Topology::synthetic("core:4 pu:1"));
  EXPECT_EQ(warning_ids(record), std::vector<std::string>{"busy"});
  Result& point = record.results.emplace_back();
  point.factors = {{"way", "a"}};
  set_samples(point, {1, 2});
  disturbances.tell(record);
  EXPECT_EQ(warning_ids(record).front(), "busy");
  EXPECT_EQ(std::ranges::count(warning_ids(record), "few_runs"), 1);
}

TEST(Disturbances, DoNotTakeTheRanksOfThisProgramForOthers) {
  const auto seen_with = [](int own_tasks) {
    Record record;
    const Disturbances made(record, {.running = 5}, core::Topology::synthetic("core:4 pu:1"),
                            own_tasks);
    return record.warnings.empty() ? "" : record.warnings[0].seen;
  };
  EXPECT_EQ(seen_with(1), "other tasks running at the start: 4");
  EXPECT_EQ(seen_with(4), "other tasks running at the start: 1");
  EXPECT_EQ(seen_with(5), "");
  EXPECT_EQ(seen_with(8), "");  // some of them slept
}

}  // namespace
}  // namespace tabane::lab
