#include "tabane/core/cgroup.h"

#include <gtest/gtest.h>

#include "tabane/core/fake_machine_test.h"

namespace tabane::core {
namespace {

TEST(CgroupLimits, AreNotSeenWithoutFiles) {
  const FakeMachine machine;
  const CgroupLimits limits = read_cgroup_limits(SystemFiles(machine.root()));
  EXPECT_FALSE(limits.seen);
  EXPECT_FALSE(limits.cpus);
  EXPECT_FALSE(limits.memory_bytes);
}

TEST(CgroupLimits, OfVersion2AreTheStrictestOnTheWayUp) {
  FakeMachine machine;
  const std::string top = "/sys/fs/cgroup";
  machine.file("/proc/self/cgroup", "0::/job/step\n")
      .file(top + "/job/cpu.max", "150000 100000\n")
      .file(top + "/job/step/cpu.max", "max 100000\n")
      .file(top + "/job/memory.max", "1000000\n")
      .file(top + "/job/memory.current", "400000\n")
      .file(top + "/job/step/memory.max", "max\n")
      .file(top + "/job/cpuset.cpus.effective", "0-3\n");
  const CgroupLimits limits = read_cgroup_limits(SystemFiles(machine.root()));
  EXPECT_TRUE(limits.seen);
  EXPECT_EQ(limits.cpus, 1.5);
  EXPECT_EQ(limits.memory_bytes, 1e6);
  EXPECT_EQ(limits.memory_free, 6e5);
  EXPECT_EQ(limits.cpuset, "0-3");
}

TEST(CgroupLimits, OfVersion1LeaveOutNoLimitMarks) {
  FakeMachine machine;
  const std::string top = "/sys/fs/cgroup";
  machine.file("/proc/self/cgroup", "4:memory:/a\n3:cpuset:/\n1:cpu,cpuacct:/gone\n0::/\n")
      .file(top + "/cpu,cpuacct/cpu.cfs_quota_us", "-1\n")
      .file(top + "/cpu,cpuacct/cpu.cfs_period_us", "100000\n")
      .file(top + "/memory/memory.limit_in_bytes", "9223372036854771712\n")
      .file(top + "/memory/a/memory.limit_in_bytes", "2048\n")
      .file(top + "/memory/a/memory.usage_in_bytes", "4096\n")
      .file(top + "/cpuset/cpuset.cpus", "0-1\n");
  const CgroupLimits limits = read_cgroup_limits(SystemFiles(machine.root()));
  EXPECT_TRUE(limits.seen);
  EXPECT_FALSE(limits.cpus);
  EXPECT_EQ(limits.memory_bytes, 2048);
  EXPECT_EQ(limits.memory_free, 0);
  EXPECT_EQ(limits.cpuset, "0-1");
}

TEST(CgroupLimits, AQuotaLeavesFewerPusBusy) {
  EXPECT_EQ(busy_pus_within({}, 8), 8);
  EXPECT_EQ(busy_pus_within({.cpus = 2.5}, 8), 2);
  EXPECT_EQ(busy_pus_within({.cpus = 0.5}, 8), 1);
  EXPECT_EQ(busy_pus_within({.cpus = 8.5}, 8), 8);
}

TEST(CgroupLimits, OfVersion1NeedNoGroupOfVersion2BesideThem) {
  FakeMachine machine;
  machine.file("/proc/self/cgroup", "2:memory:/job\n")
      .file("/proc/meminfo", "MemAvailable: 100 kB\n")
      .file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "90000\n")
      .file("/sys/fs/cgroup/memory/memory.usage_in_bytes", "10000\n")
      .file("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "50000\n")
      .file("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "20000\n")
      .file("/sys/fs/cgroup/memory/job/memory.stat", "total_inactive_file 5000\n");
  EXPECT_EQ(usable_memory_bytes(SystemFiles(machine.root())), 35000);
}

TEST(CgroupThrottling, IsNotKnownWithoutFiles) {
  const FakeMachine machine;
  EXPECT_FALSE(read_cgroup_throttling(SystemFiles(machine.root())));
}

TEST(CgroupThrottling, OfVersion2CountsTheQuotasOfAllGroupsOnTheWayUp) {
  FakeMachine machine;
  const std::string top = "/sys/fs/cgroup";
  const SystemFiles files(machine.root());
  // The quota of half a CPU stands two levels up, as a container's does.
  machine.file("/proc/self/cgroup", "0::/job/step\n")
      .file(top + "/cpu.stat", "usage_usec 9\n")
      .file(top + "/job/cpu.max", "50000 100000\n")
      .file(top + "/job/cpu.stat", "usage_usec 5\nnr_throttled 7\nthrottled_usec 350000\n")
      .file(top + "/job/step/cpu.stat", "usage_usec 5\nnr_throttled 0\nthrottled_usec 0\n");
  const auto before = read_cgroup_throttling(files);
  ASSERT_TRUE(before);
  EXPECT_EQ(before->times, 7);
  EXPECT_DOUBLE_EQ(before->seconds, 0.35);
  machine.file(top + "/job/cpu.stat", "nr_throttled 12\nthrottled_usec 600000\n");
  const CgroupThrottling between = *read_cgroup_throttling(files) - *before;
  EXPECT_EQ(between.times, 5);
  EXPECT_DOUBLE_EQ(between.seconds, 0.25);
}

TEST(CgroupThrottling, OfVersion1IsInNanoseconds) {
  FakeMachine machine;
  machine.file("/proc/self/cgroup", "1:cpu,cpuacct:/gone\n0::/\n")
      .file("/sys/fs/cgroup/cpu,cpuacct/cpu.stat", "nr_throttled 3\nthrottled_time 2500000000\n");
  const auto throttling = read_cgroup_throttling(SystemFiles(machine.root()));
  ASSERT_TRUE(throttling);
  EXPECT_EQ(throttling->times, 3);
  EXPECT_DOUBLE_EQ(throttling->seconds, 2.5);
}

TEST(CgroupPath, IsThatOfVersion1IfItHasTheControllerOtherwiseThatOfVersion2) {
  FakeMachine machine;
  EXPECT_EQ(cgroup_path(SystemFiles(machine.root()), "cpuset"), "");
  machine.file("/proc/self/cgroup", "0::/slice/job\n");
  EXPECT_EQ(cgroup_path(SystemFiles(machine.root()), "cpuset"), "/slice/job");
  machine.file("/proc/self/cgroup", "3:cpuset,cpu:/set\n1:cpuacct:/\n0::/slice/job\n");
  EXPECT_EQ(cgroup_path(SystemFiles(machine.root()), "cpuset"), "/set");
}

TEST(UsableMemory, IsWhatTheMachineOrTheGroupLeaves) {
  FakeMachine machine;
  EXPECT_FALSE(usable_memory_bytes(SystemFiles(machine.root())));
  machine.file("/proc/meminfo", "MemTotal: 20 kB\nMemAvailable: 10 kB\n");
  EXPECT_EQ(usable_memory_bytes(SystemFiles(machine.root())), 10240);
  machine.file("/proc/self/cgroup", "0::/\n")
      .file("/sys/fs/cgroup/memory.max", "5000\n")
      .file("/sys/fs/cgroup/memory.current", "1000\n");
  EXPECT_EQ(usable_memory_bytes(SystemFiles(machine.root())), 4000);
  machine.file("/sys/fs/cgroup/memory.stat", "anon 100\ninactive_file 600\n");
  EXPECT_EQ(usable_memory_bytes(SystemFiles(machine.root())), 4600);
}

TEST(UsableMemory, IsSomeOnThisMachine) {
  const auto usable = usable_memory_bytes();
  ASSERT_TRUE(usable.has_value());
  EXPECT_GT(*usable, 0x1p20);
  EXPECT_LT(*usable, 0x1p50);
}

}  // namespace
}  // namespace tabane::core
