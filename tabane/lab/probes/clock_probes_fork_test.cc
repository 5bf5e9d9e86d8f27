#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "tabane/core/clock.h"
#include "tabane/lab/probes/run_probe_test.h"

namespace tabane::lab {
namespace {

TEST(ClockProbes, HaveTheirStableNames) {
  std::vector<std::string> names;
  for (const Probe& probe : clock_probes(this_machine())) names.push_back(probe.name);
  EXPECT_EQ(names, (std::vector<std::string>{"clock.tick_rate", "clock.read_overhead", "clock.skew",
                                             "clock.core_rate"}));
}

TEST(ClockTickRate, AgreesWithTheCalibrationOfTheProcess) {
  const ProbeRun run = run_probe(clock_probes, "clock.tick_rate", true, 0.1);
  const Result& result = run.result("clock.tick_rate");
  EXPECT_EQ(result.unit, "Hz");
  ASSERT_TRUE(result.value);
  EXPECT_NEAR(*result.value / core::tick_rate().ticks_per_second, 1.0, 0.01);
  EXPECT_EQ(result.details.at("counter"), core::tick_rate().counter);
  EXPECT_TRUE(result.details.at("invariant").is_boolean());
  EXPECT_GE(result.details.at("relative_uncertainty").get<double>(), 0);
  EXPECT_TRUE(is_steady_progress(run.fractions));
}

TEST(ClockReadOverhead, IsAtLeastNothingAndNamesTheStep) {
  const ProbeRun run = run_probe(clock_probes, "clock.read_overhead", true, 0.01);
  const Result& result = run.result("clock.read_overhead");
  EXPECT_GE(result.value.value(), 0);
  EXPECT_GT(result.details.at("step_ns").get<double>(), 0);
}

TEST(ClockSkew, IsAntisymmetricWithAnEmptyDiagonal) {
  if (this_machine().pus().size() < 2) {
    EXPECT_THROW(run_probe(clock_probes, "clock.skew", true, 0.1), NotHere);
    return;
  }
  const ProbeRun run = run_probe(clock_probes, "clock.skew", true, 0.1);
  const auto& matrix = std::get<Matrix>(run.table("clock.skew").content);
  ASSERT_EQ(matrix.columns.size(), this_machine().pus().size());
  ASSERT_EQ(matrix.values.size(), matrix.rows.size());
  for (std::size_t a = 0; a < matrix.rows.size(); ++a) {
    ASSERT_EQ(matrix.values[a].size(), matrix.columns.size());
    EXPECT_FALSE(matrix.values[a][a]);
    for (std::size_t b = 0; b < matrix.rows.size(); ++b) {
      if (a != b) {
        EXPECT_EQ(matrix.values[a][b].value(), -matrix.values[b][a].value());
      }
    }
  }
  const Result& result = run.result("clock.skew");
  EXPECT_GT(result.value.value(), 0);  // the bound alone is a round trip
  EXPECT_GE(*result.value, std::abs(result.details.at(detail::kOffsetNs).get<double>()));
}

TEST(ClockCoreRate, GivesOneSampleForEachCore) {
  const ProbeRun run = run_probe(clock_probes, "clock.core_rate", true, 0.05);
  const Result& result = run.result("clock.core_rate");
  EXPECT_EQ(result.samples.size(), this_machine().core_count());
  std::set<unsigned> pus;
  for (const Json& entry : result.details.at(detail::kPerPu)) {
    const auto pu = entry.at(0).get<unsigned>();
    ASSERT_NE(this_machine().find_pu(pu), nullptr);
    EXPECT_EQ(this_machine().find_pu(pu)->smt, 0u);
    EXPECT_GT(entry.at(1).get<double>(), 1e7);
    pus.insert(pu);
  }
  EXPECT_EQ(pus.size(), this_machine().core_count());
  EXPECT_TRUE(is_steady_progress(run.fractions));
}

TEST(ClockCoreRate, DrawsTheSlowestBelowTheMedianUpToAllCores) {
  const ProbeRun run = run_probe(clock_probes, "clock.core_rate", false, 0.05);
  const auto& curves = std::get<Curves>(run.table("clock.core_rate").content);
  ASSERT_EQ(curves.series.size(), 2u);
  const Curve& slowest = curves.series[0];
  const Curve& middle = curves.series[1];
  ASSERT_EQ(slowest.x, middle.x);
  EXPECT_EQ(slowest.x.front(), 1);
  EXPECT_EQ(slowest.x.back(), this_machine().core_count());
  for (std::size_t i = 0; i < slowest.x.size(); ++i) EXPECT_LE(slowest.y[i], middle.y[i]);
}

}  // namespace
}  // namespace tabane::lab
