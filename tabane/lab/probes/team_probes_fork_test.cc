#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "tabane/core/memory.h"
#include "tabane/core/statistics.h"
#include "tabane/lab/probes/run_probe_test.h"

namespace tabane::lab {
namespace {

ProbeRun run_quickly(std::size_t stop_after = static_cast<std::size_t>(-1)) {
  return run_probe(team_probes, "fork.tree", true, 0.02, this_machine(), stop_after);
}

TEST(ForkTree, GivesTreeAndSerialTimesMeasuredInTurn) {
  const ProbeRun run = run_quickly();
  const Result& tree = run.result("fork.tree");
  const Result& serial = run.result("fork.tree.serial");
  EXPECT_EQ(tree.unit, "s");
  EXPECT_GE(tree.samples.size(), 2U);
  EXPECT_EQ(tree.samples.size(), serial.samples.size());
  EXPECT_GT(*std::min_element(tree.samples.begin(), tree.samples.end()), 0);
  EXPECT_EQ(tree.value, core::median(tree.samples));
  EXPECT_GE(tree.details.at("processes"), 8);
  EXPECT_LE(tree.details.at("processes"), 32);
  EXPECT_GT(tree.details.at("held_bytes"), 0);
}

TEST(ForkTree, TellsTheGainOfTheTreeAsAMedianOfPairs) {
  const ProbeRun run = run_quickly();
  const Result& gain = run.result("fork.tree.gain");
  EXPECT_EQ(gain.unit, "ratio");
  EXPECT_EQ(gain.better, Better::higher);
  EXPECT_EQ(gain.value, core::interleaved_ratio(run.result("fork.tree.serial").samples,
                                                run.result("fork.tree").samples)
                            .value);
}

// The best of several runs: one that is disturbed tells nothing.
TEST(ForkTree, IsFasterWhenTheMemoryIsInHugePages) {
  constexpr int kRuns = 5;
  std::vector<double> small, huge;
  for (int i = 0; i < kRuns; ++i) {
    const ProbeRun run = run_quickly();
    const Result& of_small = run.result("fork.tree");
    const Result* of_huge = run.record.find("fork.tree.huge_pages");
    if (of_huge == nullptr) GTEST_SKIP() << "the system gave no huge pages";
    if (of_small.details.at("held_bytes") < 32 << 20) GTEST_SKIP() << "too little memory to see it";
    small.push_back(std::ranges::min(of_small.samples));
    huge.push_back(std::ranges::min(of_huge->samples));
  }
  EXPECT_LT(std::ranges::min(huge), std::ranges::min(small));
}

TEST(ForkTree, ReportsSteadyProgressAndStopsWhenAsked) {
  EXPECT_TRUE(is_steady_progress(run_quickly().fractions));
  EXPECT_THROW(run_quickly(2), Stopped);
}

TEST(ForkTree, LeavesNoChildBehind) {
  run_quickly();
  errno = 0;
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace tabane::lab
