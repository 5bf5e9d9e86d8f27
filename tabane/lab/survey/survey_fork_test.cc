#include "tabane/lab/survey/survey.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"

namespace tabane::lab {
namespace {

TEST(RunSurvey, KeepsAndTellsWhatIsMeasuredWhenTheUserStops) {
  const core::Topology topology = core::Topology::detect();
  std::vector<std::string> told;
  bool second_pass = false;
  Hooks hooks;
  hooks.on_result = [&](const Result& result) { told.push_back(result.name); };
  hooks.progress = [&](const std::string& what, double, double) {
    second_pass = second_pass || what == "latency.mul (2/6)";
  };
  hooks.stop_requested = [&] { return second_pass; };
  const Record record = run_survey(
      topology, {.only = {"clock.tick_rate", "latency.add", "latency.mul"}, .quick = true}, hooks);
  EXPECT_FALSE(record.complete);
  EXPECT_EQ(told, (std::vector<std::string>{"clock.tick_rate", "latency.add", "latency.mul"}));
  EXPECT_EQ(record.find("latency.add")->passes.size(), 2u);
  EXPECT_LE(record.find("latency.mul")->passes.size(), 1u);
}

TEST(RunSurvey, GoesOverAllProbesInSeveralPasses) {
  const core::Topology topology = core::Topology::detect();
  std::vector<std::string> visits;
  Hooks hooks;
  hooks.progress = [&](const std::string& what, double, double) {
    if (visits.empty() || visits.back() != what) visits.push_back(what);
  };
  const Record record =
      run_survey(topology, {.only = {"clock.tick_rate", "latency.add"}, .quick = true}, hooks);
  ASSERT_GE(visits.size(), 4u);
  EXPECT_EQ(visits[0], "clock.tick_rate (1/6)");
  EXPECT_EQ(visits[1], "latency.add (1/6)");
  EXPECT_EQ(visits[2], "clock.tick_rate (2/6)");
  for (const Result& result : record.results) {
    EXPECT_EQ(result.passes.size(), core::kFewestForInterval) << result.name;
    ASSERT_TRUE(result.interval) << result.name;
    EXPECT_TRUE(result.interval->contains(*result.value)) << result.name;
  }
}

TEST(RunSurvey, ReportsEveryResultAndSurvivesAWriterAfterEachProbe) {
  const core::Topology topology = core::Topology::detect();
  std::size_t written = 0;
  double last_done = -1;
  Hooks hooks;
  hooks.on_probe_done = [&](const Record& record) { written = record.results.size(); };
  hooks.progress = [&](const std::string&, double done, double) {
    EXPECT_GE(done, last_done);
    EXPECT_LE(done, 1.0 + 1e-9);
    last_done = done;
  };
  const Record record =
      run_survey(topology, {.only = {"clock.tick_rate", "latency"}, .quick = true}, hooks);
  EXPECT_TRUE(record.complete);
  EXPECT_EQ(written, record.results.size());
  for (const Result& result : record.results) {
    ASSERT_TRUE(result.value) << result.name;
    EXPECT_GT(*result.value, 0) << result.name;
    EXPECT_FALSE(result.samples.empty()) << result.name;
  }
  EXPECT_EQ(record.sentences.size(), 3u);
  EXPECT_EQ(record.checklist.size(), 12u);
}

TEST(RunSurvey, RefusesAnUnknownProbeBeforeAnythingRuns) {
  const core::Topology topology = core::Topology::detect();
  Hooks hooks;
  hooks.progress = [](const std::string&, double, double) { FAIL() << "something ran"; };
  EXPECT_THROW(run_survey(topology, {.only = {"no.such.probe"}}, hooks), core::UsageError);
}

TEST(RunSurvey, RefusesAMachineThatIsNotThisOne) {
  EXPECT_THROW(run_survey(core::Topology::synthetic("pack:4 core:4 pu:1"), {}), core::UsageError);
}

}  // namespace
}  // namespace tabane::lab
