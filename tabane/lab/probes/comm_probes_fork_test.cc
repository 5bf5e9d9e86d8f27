#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>

#include "tabane/lab/probes/run_probe_test.h"

namespace tabane::lab {
namespace {

constexpr const char* kNames[] = {"comm.latency", "comm.bandwidth", "comm.barrier",
                                  "comm.all_reduce", "comm.broadcast"};

bool one_pu() { return this_machine().pus().size() < 2; }

ProbeRun run_quickly(const std::string& name,
                     std::size_t stop_after = static_cast<std::size_t>(-1)) {
  return run_probe(comm_probes, name, true, 0.02, this_machine(), stop_after);
}

TEST(CommProbes, AllGiveSamplesAndTellTheirPus) {
  if (one_pu()) GTEST_SKIP() << "one usable PU";
  for (const std::string name : kNames) {
    const ProbeRun run = run_quickly(name);
    const Result& result = run.result(name);
    EXPECT_GE(result.samples.size(), 5u) << name;  // the fewest rounds, on a busy machine
    EXPECT_GT(*std::min_element(result.samples.begin(), result.samples.end()), 0) << name;
    EXPECT_GE(result.details.at("pus").size(), 2u) << name;
    EXPECT_LE(result.details.at("pus").size(), 16u) << name;
    EXPECT_TRUE(is_steady_progress(run.fractions)) << name;
    ASSERT_TRUE(result.limit) << name;  // measured in turn, whatever was measured before
    EXPECT_EQ(result.limit->samples.size(), result.samples.size()) << name;
    EXPECT_GT(result.share_of_limit()->value, 0) << name;
  }
}

TEST(CommProbes, TakeTheNearestPairAndKeepItInAllPasses) {
  if (one_pu()) GTEST_SKIP() << "one usable PU";
  const auto pus = this_machine().pus();
  Record before;
  Result line{.name = "core_to_core.latency", .what = "", .unit = "ns", .value = 70};
  line.details = {{"best_pair", {pus[1].os_index, pus[0].os_index}}};
  before.results.push_back(line);
  const ProbeRun run = run_probe(comm_probes, "comm.latency", true, 0.02, this_machine(),
                                 static_cast<std::size_t>(-1), 2, before);
  const Result& latency = run.result("comm.latency");
  EXPECT_EQ(latency.details.at("pus"), line.details.at("best_pair"));
  EXPECT_EQ(latency.passes.size(), 2u);
}

// A line that goes to and fro is the least that a message needs: the limit is no figure of another
// time, and shares no code with messages.
TEST(CommProbes, AreHeldAgainstALineOfTheSameRanks) {
  if (one_pu()) GTEST_SKIP() << "one usable PU";
  const ProbeRun run = run_quickly("comm.latency");
  const Result& latency = run.result("comm.latency");
  EXPECT_GT(latency.limit->value, 1e-9);
  EXPECT_LT(latency.limit->value, 100e-6);
}

TEST(CommProbes, StopWhenAskedToAndLeaveNoChildBehind) {
  if (one_pu()) GTEST_SKIP() << "one usable PU";
  EXPECT_THROW(run_quickly("comm.barrier", 1), Stopped);
  errno = 0;
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(CommProbes, AreNotHereWithOnePuOrOnAnotherMachine) {
  for (const std::string name : kNames) {
    EXPECT_THROW(run_probe(comm_probes, name, true, 0.02, core::Topology::synthetic("pu:1")),
                 NotHere);
    EXPECT_THROW(run_probe(comm_probes, name, true, 0.02, core::Topology::synthetic("core:4 pu:1")),
                 NotHere);
  }
}

}  // namespace
}  // namespace tabane::lab
