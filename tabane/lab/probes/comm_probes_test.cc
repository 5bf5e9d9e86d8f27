#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>

#include "tabane/lab/probes/run_probe.h"

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
    EXPECT_GE(result.samples.size(), 6u) << name;
    EXPECT_GT(*std::min_element(result.samples.begin(), result.samples.end()), 0) << name;
    EXPECT_GE(result.details.at("pus").size(), 2u) << name;
    EXPECT_LE(result.details.at("pus").size(), 16u) << name;
    EXPECT_TRUE(is_steady_progress(run.fractions)) << name;
    EXPECT_FALSE(result.limit) << name;  // nothing was measured before
  }
}

TEST(CommProbes, TakeTheNearestPairAndItsLineAsLimit) {
  if (one_pu()) GTEST_SKIP() << "one usable PU";
  const auto pus = this_machine().pus();
  Record record;
  Result line{.name = "core_to_core.latency", .what = "", .unit = "ns", .value = 70};
  line.details = {{"best_pair", {pus[1].os_index, pus[0].os_index}}, {"min_ns", 50.0}};
  record.results.push_back(line);
  ProbeContext context(this_machine(), true, 0.02, record, {});
  for (const Probe& probe : comm_probes(this_machine())) probe.run(probe, context);
  const Result& latency = *record.find("comm.latency");
  EXPECT_EQ(latency.details.at("pus"), line.details.at("best_pair"));
  EXPECT_DOUBLE_EQ(latency.limit->value, 50e-9);
  EXPECT_DOUBLE_EQ(record.find("comm.barrier")->limit->value, 70e-9);
  EXPECT_FALSE(record.find("comm.bandwidth")->limit);  // no copy was measured
}

TEST(CommProbes, BandwidthHasHalfOfCopyingAsLimit) {
  if (one_pu()) GTEST_SKIP() << "one usable PU";
  Record record;
  for (const char* level : {"l2", "l3", "dram"}) {
    Result copy{.name = std::string("memory.bandwidth.copy.") + level + ".core",
                .what = "",
                .unit = "B/s",
                .value = 20e9};
    record.results.push_back(copy);
  }
  ProbeContext context(this_machine(), true, 0.02, record, {});
  const Probe probe = comm_probes(this_machine())[1];
  probe.run(probe, context);
  const Result& bandwidth = *record.find("comm.bandwidth");
  ASSERT_TRUE(bandwidth.limit);
  EXPECT_DOUBLE_EQ(bandwidth.limit->value, 10e9);
  EXPECT_EQ(bandwidth.better, Better::higher);
}

TEST(CommProbes, StopWhenAskedToAndLeaveNoChildBehind) {
  if (one_pu()) GTEST_SKIP() << "one usable PU";
  EXPECT_THROW(run_quickly("comm.barrier", 2), Stopped);
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
