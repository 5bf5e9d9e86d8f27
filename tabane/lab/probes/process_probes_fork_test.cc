#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <variant>
#include <vector>

#include "tabane/core/memory.h"
#include "tabane/lab/probes/common.h"
#include "tabane/lab/probes/run_probe_test.h"

namespace tabane::lab {
namespace {

ProbeRun run_quickly(const std::string& name) {
  return run_probe(process_probes, name, true, 0.02);
}

TEST(ProcessProbes, HaveTheirStableNames) {
  std::vector<std::string> names;
  for (const Probe& probe : process_probes(this_machine())) {
    names.push_back(probe.name);
    EXPECT_TRUE(probe.run);
    EXPECT_FALSE(probe.what.empty());
    EXPECT_GT(probe.seconds.full, probe.seconds.quick);
  }
  const std::vector<std::string> expected = {"fork.cost", "thread.create", "page_fault.rate"};
  EXPECT_EQ(names, expected);
}

TEST(ProcessProbes, GiveAtLeastThreePositiveSamplesTheirMedianAndSteadyProgress) {
  for (const Probe& probe : process_probes(this_machine())) {
    const ProbeRun run = run_quickly(probe.name);
    const Result& result = run.result(probe.name);
    EXPECT_GE(result.samples.size(), 3U) << probe.name;
    EXPECT_GT(std::ranges::min(result.samples), 0) << probe.name;
    EXPECT_EQ(result.value, core::median(result.samples)) << probe.name;
    EXPECT_EQ(result.unit, probe.unit) << probe.name;
    EXPECT_GE(run.fractions.size(), 2U) << probe.name;
    EXPECT_TRUE(is_steady_progress(run.fractions)) << probe.name;
  }
}

TEST(ForkCost, GrowsWithTheMemoryThatTheProcessHolds) {
  const ProbeRun run = run_quickly("fork.cost");
  const Curve& small = std::get<Curves>(run.table("fork.cost").content).series.at(0);
  EXPECT_EQ(small.name, base_pages());
  ASSERT_EQ(small.x.size(), small.y.size());
  EXPECT_EQ(small.x.front(), 2 * 1024.0 * 1024);
  if (small.x.size() < 4) GTEST_SKIP() << "not enough memory for 128 MiB";
  EXPECT_GT(small.y.back(), 2 * small.y.front());  // 32768 page-table entries against 512
  const Result& slope = run.result("fork.cost.per_gib");
  EXPECT_GT(slope.value.value(), 0);
  EXPECT_EQ(slope.unit, "s/GiB");
}

TEST(ForkCost, HasACurveForHugePagesOrSaysWhyNot) {
  const ProbeRun run = run_quickly("fork.cost");
  const View& table = run.table("fork.cost");
  const auto& series = std::get<Curves>(table.content).series;
  if (!core::huge_pages_possible()) {
    EXPECT_EQ(series.size(), 1U);
  }
  if (series.size() == 1) {
    EXPECT_TRUE(table.details.at(detail::kRemark).is_string());
    return;
  }
  EXPECT_EQ(series.at(1).name, "huge pages");
  for (const double bytes : series.at(1).x)
    EXPECT_EQ(static_cast<std::size_t>(bytes) % core::huge_page_bytes(), 0U);
}

TEST(ForkCost, LeavesNoChildBehind) {
  run_quickly("fork.cost");
  errno = 0;
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(PageFaultRate, TellsThreadsAndPagesForOneThreadAndForAll) {
  const ProbeRun run = run_quickly("page_fault.rate");
  const Result *one = &run.result("page_fault.rate"), *all = &run.result("page_fault.rate.machine");
  EXPECT_EQ(one->details.at("threads"), 1);
  EXPECT_EQ(all->details.at("threads"), this_machine().pus().size());
  EXPECT_GT(one->details.at("pages_per_thread"), 0);
  EXPECT_EQ(one->unit, "pages/s");
  EXPECT_EQ(all->better, Better::higher);
}

}  // namespace
}  // namespace tabane::lab
