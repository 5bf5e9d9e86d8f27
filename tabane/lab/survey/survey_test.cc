#include "tabane/lab/survey/survey.h"

#include <gtest/gtest.h>

#include "tabane/core/error.h"

namespace tabane::lab {
namespace {

TEST(RunSurvey, KeepsWhatIsMeasuredWhenTheUserStops) {
  const core::Topology topology = core::Topology::detect();
  int results = 0;
  Hooks hooks;
  hooks.on_result = [&](const Result&) { ++results; };
  hooks.stop_requested = [&] { return results >= 1; };
  const Record record = run_survey(
      topology, {.only = {"clock.tick_rate", "latency.add", "latency.mul"}, .quick = true}, hooks);
  EXPECT_FALSE(record.complete);
  ASSERT_GE(record.results.size(), 1u);
  EXPECT_EQ(record.results.front().name, "clock.tick_rate");
  EXPECT_EQ(record.find("latency.mul"), nullptr);
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
