#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <variant>
#include <vector>

#include "tabane/core/memory.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/probes/common.h"

namespace tabane::lab {
namespace {

const core::Topology& this_machine() {
  static const core::Topology topology = core::Topology::detect();
  return topology;
}

Probe probe_named(const std::string& name) {
  for (Probe& probe : process_probes(this_machine())) {
    if (probe.name == name) return probe;
  }
  throw std::runtime_error("no probe " + name);
}

Record run_quickly(const std::string& name, ProbeContext::Hooks hooks = {},
                   const core::Topology& topology = this_machine()) {
  Record record;
  ProbeMemory memory;
  ProbeContext context(topology, true, 0.02, {}, memory, record, std::move(hooks));
  const Probe probe = probe_named(name);
  visit({&probe, 1}, context);
  return record;
}

TEST(ProcessProbes, HaveTheirStableNames) {
  std::vector<std::string> names;
  for (const Probe& probe : process_probes(this_machine())) {
    names.push_back(probe.name);
    EXPECT_TRUE(probe.run);
    EXPECT_FALSE(probe.what.empty());
    EXPECT_GT(probe.seconds, probe.quick_seconds);
  }
  const std::vector<std::string> expected = {"fork.cost", "thread.create", "page_fault.rate"};
  EXPECT_EQ(names, expected);
}

TEST(ProcessProbes, GiveAtLeastThreePositiveSamplesAndTheirMedian) {
  for (const std::string name : {"fork.cost", "thread.create", "page_fault.rate"}) {
    const Record record = run_quickly(name);
    const Result* result = record.find(name);
    ASSERT_NE(result, nullptr) << name;
    EXPECT_GE(result->samples.size(), 3U) << name;
    EXPECT_GT(*std::min_element(result->samples.begin(), result->samples.end()), 0) << name;
    EXPECT_EQ(result->value, core::median(result->samples)) << name;
    EXPECT_EQ(result->unit, probe_named(name).unit) << name;
  }
}

TEST(ProcessProbes, RefuseATopologyOfAnotherMachineAsNotHere) {
  const core::Topology other = core::Topology::synthetic("pack:2 core:2 pu:1");
  for (const std::string name : {"fork.cost", "thread.create", "page_fault.rate"}) {
    EXPECT_THROW(run_quickly(name, {}, other), NotHere) << name;
  }
}

TEST(ProcessProbes, StopWhenAsked) {
  ProbeContext::Hooks hooks;
  hooks.progress = [](double) { throw Stopped(); };
  for (const std::string name : {"fork.cost", "thread.create", "page_fault.rate"}) {
    EXPECT_THROW(run_quickly(name, hooks), Stopped) << name;
  }
}

TEST(ProcessProbes, ReportProgressThatNeverGoesBackAndEndsByOne) {
  for (const std::string name : {"fork.cost", "thread.create", "page_fault.rate"}) {
    std::vector<double> seen;
    ProbeContext::Hooks hooks;
    hooks.progress = [&](double fraction) { seen.push_back(fraction); };
    run_quickly(name, hooks);
    EXPECT_GE(seen.size(), 2U) << name;
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end())) << name;
    EXPECT_LE(seen.back(), 1) << name;
  }
}

TEST(ForkCost, GrowsWithTheMemoryThatTheProcessHolds) {
  const Record record = run_quickly("fork.cost");
  const View* table = record.find_view("fork.cost");
  ASSERT_NE(table, nullptr);
  const Curve& small = std::get<Curves>(table->content).series.at(0);
  EXPECT_EQ(small.name, base_pages());
  ASSERT_EQ(small.x.size(), small.y.size());
  EXPECT_EQ(small.x.front(), 2 * 1024.0 * 1024);
  if (small.x.size() < 4) GTEST_SKIP() << "not enough memory for 128 MiB";
  EXPECT_GT(small.y.back(), 2 * small.y.front());  // 32768 page-table entries against 512
  const Result* slope = record.find("fork.cost.per_gib");
  ASSERT_NE(slope, nullptr);
  EXPECT_GT(slope->value.value(), 0);
  EXPECT_EQ(slope->unit, "s/GiB");
}

TEST(ForkCost, HasACurveForHugePagesOrSaysWhyNot) {
  const Record record = run_quickly("fork.cost");
  const View* table = record.find_view("fork.cost");
  ASSERT_NE(table, nullptr);
  const auto& series = std::get<Curves>(table->content).series;
  if (!core::huge_pages_possible()) {
    EXPECT_EQ(series.size(), 1U);
  }
  if (series.size() == 1) {
    EXPECT_TRUE(table->details.at(detail::kRemark).is_string());
    return;
  }
  EXPECT_EQ(series.at(1).name, "huge pages");
  for (const double bytes : series.at(1).x) {
    EXPECT_EQ(static_cast<std::size_t>(bytes) % core::huge_page_bytes(), 0U);
  }
}

TEST(ForkCost, LeavesNoChildBehind) {
  run_quickly("fork.cost");
  errno = 0;
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(PageFaultRate, TellsThreadsAndPagesForOneThreadAndForAll) {
  const Record record = run_quickly("page_fault.rate");
  const Result* one = record.find("page_fault.rate");
  const Result* all = record.find("page_fault.rate.machine");
  ASSERT_NE(one, nullptr);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(one->details.at("threads"), 1);
  EXPECT_EQ(all->details.at("threads"), this_machine().pus().size());
  EXPECT_GT(one->details.at("pages_per_thread"), 0);
  EXPECT_EQ(one->unit, "pages/s");
  EXPECT_EQ(all->better, Better::higher);
}

}  // namespace
}  // namespace tabane::lab
