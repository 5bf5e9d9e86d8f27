#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/lab/environment.h"
#include "tabane/lab/probes/chase.h"

namespace tabane::lab {
namespace {

std::vector<std::string> checked_ids(const std::vector<Warning>& warnings) {
  std::vector<std::string> found;
  for (const Warning& warning : warnings) {
    found.push_back(warning.id);
    EXPECT_FALSE(warning.seen.empty()) << warning.id;
    EXPECT_FALSE(warning.may_mean.empty()) << warning.id;
    EXPECT_FALSE(warning.do_this.empty()) << warning.id;
  }
  return found;
}

using Ids = std::vector<std::string>;

const core::Topology& plain() {
  static const core::Topology topology = core::Topology::synthetic("core:4 pu:1");
  return topology;
}

Ids environment_ids(const Environment& environment, const core::Topology& topology = plain()) {
  return checked_ids(environment_warnings(environment, topology));
}

TEST(EnvironmentWarnings, AreNoneWhereNothingIsKnown) { EXPECT_EQ(environment_ids({}), Ids{}); }

TEST(EnvironmentWarnings, NameEachTrouble) {
  EXPECT_EQ(environment_ids({.huge_pages = "never"}), Ids{"thp_off"});
  EXPECT_EQ(environment_ids({.running = 2}), Ids{"busy"});
  EXPECT_EQ(environment_ids({.virtual_machine = true}), Ids{"virtual_machine"});
  EXPECT_EQ(environment_ids({.tick_rate_change = 0.3}), Ids{"timer_not_invariant"});
  EXPECT_EQ(environment_ids({.swap_used = 1e9}), Ids{"swap_used"});
  EXPECT_EQ(environment_ids({.optimised = false}), Ids{"slow_build"});
  EXPECT_EQ(environment_ids({.throttled_periods = 3}), Ids{"cpu_quota"});
}

TEST(EnvironmentWarnings, AreSilentForGoodValues) {
  EXPECT_EQ(environment_ids({.huge_pages = "madvise"}), Ids{});
  EXPECT_EQ(environment_ids({.running = 1}), Ids{});
  EXPECT_EQ(environment_ids({.virtual_machine = false}), Ids{});
  EXPECT_EQ(environment_ids({.tick_rate_change = -0.001}), Ids{});
  EXPECT_EQ(environment_ids({.swap_used = 4096}), Ids{});
  EXPECT_EQ(environment_ids({.throttled_periods = 0}), Ids{});
}

TEST(EnvironmentWarnings, LeaveTheJudgementOfTheCounterToTheKernel) {
  Environment environment{
      .clock_source = "tsc", .clock_sources = "tsc hpet acpi_pm", .counter = "rdtsc"};
  EXPECT_EQ(environment_ids(environment), Ids{});
  environment.clock_source = "kvm-clock";
  environment.clock_sources = "kvm-clock tsc hpet";
  EXPECT_EQ(environment_ids(environment), Ids{});
  environment.clock_source = "hpet";
  environment.clock_sources = "hpet acpi_pm";
  EXPECT_EQ(environment_ids(environment), Ids{"timer_rejected"});
  environment.counter = "cntvct_el0";
  EXPECT_EQ(environment_ids(environment), Ids{});
}

TEST(EnvironmentWarnings, JudgeTheFrequencyByWhatTheCoresDoRatherThanByTheGovernorsName) {
  Environment environment{.governor = "powersave"};
  EXPECT_EQ(environment_ids(environment), Ids{"frequency_varies"});
  environment.lowest_mhz = 2990;
  environment.highest_mhz = 3000;
  EXPECT_EQ(environment_ids(environment), Ids{});
  environment.governor = "performance";
  environment.lowest_mhz = 1200;
  EXPECT_EQ(environment_ids(environment), Ids{"frequency_varies"});
}

TEST(EnvironmentWarnings, CompareTheQuotaWithTheUsablePus) {
  EXPECT_EQ(environment_ids({.cpu_quota = 3.5}), Ids{"cpu_quota"});
  EXPECT_EQ(environment_ids({.cpu_quota = 4.0}), Ids{});
}

TEST(EnvironmentWarnings, SayHowLittleAQuotaAllows) {
  Environment environment{.cpu_quota = 0.5};
  const auto seen = [&] { return environment_warnings(environment, plain()).at(0).seen; };
  EXPECT_EQ(seen(), "a control group allows 50 % of one CPU's time");
  environment.throttled_periods = 37;
  environment.throttled_seconds = 2.1;
  EXPECT_EQ(seen(),
            "a control group allows 50 % of one CPU's time; it has stopped this group 37 times, "
            "for 2.10 s in all");
  environment = {.cpu_quota = 1.0, .throttled_periods = 1};
  EXPECT_EQ(seen(),
            "a control group allows the time of 1 CPU where 4 PUs may be used; it has stopped this "
            "group 1 time");
}

TEST(EnvironmentWarnings, SeeSiblingsInTheSet) {
  EXPECT_EQ(environment_ids({}, core::Topology::synthetic("core:2 pu:2")), Ids{"smt_siblings"});
}

TEST(EnvironmentWarnings, CareForNumaOnlyWithSeveralNodes) {
  const Environment environment{.numa_balancing = 1, .numa_calls = false};
  EXPECT_EQ(environment_ids(environment), Ids{});
  const core::Topology two = core::Topology::synthetic("node:2 core:2 pu:1");
  EXPECT_EQ(environment_ids(environment, two), (Ids{"numa_balancing", "no_numa_calls"}));
}

Result series(std::string name, std::vector<double> samples) {
  Result result;
  result.name = std::move(name);
  result.unit = "s";
  result.better = Better::lower;
  result.value = core::median(samples);
  result.interval = core::Interval{*result.value, *result.value};
  result.samples = std::move(samples);
  return result;
}

Record finished() {
  Record record;
  record.complete = true;
  return record;
}

Ids measured(std::vector<Result> results) {
  Record record = finished();
  record.results = std::move(results);
  return checked_ids(measurement_warnings(record));
}

std::vector<double> scattered(std::size_t n, double around = 100) {
  std::vector<double> samples;
  for (std::size_t i = 0; i < n; ++i) {
    samples.push_back(around + static_cast<double>(i * 7 % 11) / 10);  // 1 % of spread, no order
  }
  return samples;
}

TEST(MeasurementWarnings, AreNoneForNothingOrForQuietSeries) {
  EXPECT_EQ(measured({}), Ids{});
  EXPECT_EQ(measured({series("a", {5})}), Ids{});
  EXPECT_EQ(measured({series("a", scattered(60))}), Ids{});
  EXPECT_EQ(measured({series("a", std::vector<double>(60, 5.0))}), Ids{});
}

TEST(MeasurementWarnings, SeeADriftOverTheRun) {
  std::vector<double> samples = scattered(60);
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i] *= 1 + 0.1 * static_cast<double>(i) / 60;
  EXPECT_EQ(measured({series("a", samples)}), Ids{"drift"});
}

TEST(MeasurementWarnings, TakeATinyDriftWithoutScatterForNothing) {
  std::vector<double> samples(30, 100.0);
  std::fill(samples.begin() + 20, samples.end(), 100.001);
  EXPECT_EQ(measured({series("a", samples)}), Ids{});
}

TEST(MeasurementWarnings, TakeOutliersWithoutEffectForNothing) {
  std::vector<double> samples(40, 100.0);
  for (std::size_t i = 0; i < 40; i += 10) samples[i] = 100.01;  // outside a fence of width 0
  EXPECT_EQ(measured({series("a", samples)}), Ids{});
  for (std::size_t i = 0; i < 40; i += 10) samples[i] = 200;
  EXPECT_EQ(measured({series("a", samples)}), Ids{"outliers"});
}

TEST(MeasurementWarnings, SeeTwoGroupsAndNotAUniformSpread) {
  std::vector<double> two, uniform;
  for (int i = 0; i < 60; ++i) {
    two.push_back((i % 3 == 0 ? 120 : 100) + 0.1 * (i % 5));
    uniform.push_back(100 + i * 37 % 60);
  }
  EXPECT_EQ(measured({series("a", two)}), Ids{"bimodal"});
  EXPECT_EQ(measured({series("a", uniform)}), Ids{});
}

TEST(MeasurementWarnings, MergeTheSameTroubleOfSeveralResults) {
  std::vector<Result> results;
  for (int i = 0; i < 10; ++i) {
    results.push_back(series("r" + std::to_string(i), scattered(10)));
    results.back().interval = core::Interval{93, 105};
  }
  Record record = finished();
  record.results = results;
  const auto warnings = measurement_warnings(record);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].id, "wide_interval");
  EXPECT_NE(warnings[0].seen.find("r0, r1,"), std::string::npos);
  EXPECT_NE(warnings[0].seen.find("and 6 more"), std::string::npos);
}

TEST(MeasurementWarnings, TellOfALimitThatCannotBeOne) {
  Record record = finished();
  record.results = {series("rate", {3, 3})};
  record.results[0].better = Better::higher;
  record.results[0].limit = Limit{1, "disturbed"};
  ASSERT_EQ(measurement_warnings(record).size(), 1U);
  EXPECT_EQ(measurement_warnings(record)[0].id, "roof_too_low");
  record.results[0].limit = Limit{2.95, "beaten a little"};
  EXPECT_TRUE(measurement_warnings(record).empty());
}

TEST(MeasurementWarnings, TellOfALastCacheThatAnswersLikeMemory) {
  Record record = finished();
  record.results = {series("memory.latency.dram", {150, 150})};
  record.results[0].details[kHalfOfLastCacheNs] = 95;
  ASSERT_EQ(measurement_warnings(record).size(), 1U);
  EXPECT_EQ(measurement_warnings(record)[0].id, "last_cache_small");
  record.results[0].details[kHalfOfLastCacheNs] = 15;
  EXPECT_TRUE(measurement_warnings(record).empty());
}

TEST(MeasurementWarnings, NameThePuThatIsSlower) {
  Result rates = series("clock.core_rate", {3e9, 3e9, 3e9, 2.4e9});
  rates.better = Better::higher;
  rates.details[detail::kPerPu] = Json::array({{0, 3e9}, {1, 3e9}, {2, 3e9}, {3, 2.4e9}});
  Record record = finished();
  record.results = {rates};
  const auto warnings = measurement_warnings(record);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].id, "slow_pu");
  EXPECT_EQ(warnings[0].seen, "CPU 3 is 20 % slower (clock.core_rate)");
}

TEST(MeasurementWarnings, LeavePusAloneThatDifferLittle) {
  Result rates = series("clock.core_rate", {3e9, 2.8e9});
  rates.better = Better::higher;
  rates.details[detail::kPerPu] = Json::array({{0, 3e9}, {1, 2.8e9}});
  EXPECT_EQ(measured({rates}), Ids{});
}

TEST(MeasurementWarnings, TakeASkewSeriouslyOnlyBeyondItsOwnError) {
  Result skew;
  skew.name = "clock.skew";
  skew.value = 500;
  skew.details[detail::kOffsetNs] = 250.0;
  skew.details[detail::kBoundNs] = 250.0;
  EXPECT_EQ(measured({skew}), Ids{});
  skew.details[detail::kOffsetNs] = -900.0;
  EXPECT_EQ(measured({skew}), Ids{"clock_skew"});
}

// Of one that was stopped: in how many passes its figure was measured.
Ids stopped_ids(std::size_t passes, Kind kind = Kind::survey) {
  Record record;
  record.kind = kind;
  Result& result = record.results.emplace_back(series("a", {1}));
  if (passes > 1) result.passes.resize(passes);
  return checked_ids(measurement_warnings(record));
}

TEST(MeasurementWarnings, SayThatAStoppedSurveySawFewMoments) {
  EXPECT_EQ(stopped_ids(1), Ids{"few_passes"});  // in its first pass
  EXPECT_EQ(stopped_ids(3), Ids{"few_passes"});
  EXPECT_EQ(stopped_ids(core::kFewestForInterval), Ids{});
}

TEST(MeasurementWarnings, SayThatTheProbesOfAStoppedStudySawFewMoments) {
  EXPECT_EQ(stopped_ids(1, Kind::study), Ids{"few_passes"});
  EXPECT_EQ(stopped_ids(3, Kind::study), Ids{"few_passes"});
  EXPECT_EQ(stopped_ids(core::kFewestForInterval, Kind::study), Ids{});
}

// A study with a point that has so many samples.
Record study_with(std::size_t samples) {
  Record record;
  record.kind = Kind::study;
  record.complete = true;
  Result point = series("study.point", std::vector<double>(samples, 1));
  point.factors = {{"way", "a"}};
  Result figure = series("study.figure", {1});
  figure.samples.clear();  // it is made from points
  record.results = {point, figure};
  return record;
}

TEST(MeasurementWarnings, SayThatPointsOfAStudyHaveTooFewRunsForAnInterval) {
  EXPECT_EQ(checked_ids(measurement_warnings(study_with(6))), Ids{});
  const auto warnings = measurement_warnings(study_with(5));
  ASSERT_EQ(checked_ids(warnings), Ids{"few_runs"});
  EXPECT_TRUE(warnings[0].seen.starts_with("1 of 1 points have fewer than 6 runs"))
      << warnings[0].seen;
}

TEST(MeasurementWarnings, AskOfAStudyThatHasNoProbesForNoPasses) {
  Record record = study_with(6);
  record.complete = false;
  EXPECT_EQ(checked_ids(measurement_warnings(record)), Ids{});
}

TEST(MeasurementWarnings, AdviseToLeaveQuickOutOnlyWhereItWasGiven) {
  Record record = study_with(5);
  const auto advice = [&] { return measurement_warnings(record).at(0).do_this; };
  EXPECT_EQ(advice().find("--quick"), std::string::npos) << advice();
  record.quick = true;
  EXPECT_NE(advice().find("without --quick"), std::string::npos) << advice();
}

// Of a study with so many of 9 points that have outliers, two states or wide intervals.
std::vector<Warning> of_scattering(std::size_t points, bool are_points = true) {
  Record record = finished();
  record.kind = Kind::study;
  for (std::size_t i = 0; i < 9; ++i) {
    std::vector<double> samples = scattered(60);
    if (i < points)
      for (std::size_t k = 0; k < 60; k += 10) samples[k] = 200;
    Result& point = record.results.emplace_back(series("study.p" + std::to_string(i), samples));
    if (i < points) point.interval = core::Interval{50, 150};
    if (are_points) point.factors = {{"n", static_cast<double>(i)}};
  }
  return measurement_warnings(record);
}

TEST(MeasurementWarnings, TellOfPointsThatScatterInOneSentenceOnlyWhereMoreThanAThirdDo) {
  EXPECT_EQ(checked_ids(of_scattering(3)), Ids{});
  const auto warnings = of_scattering(4);
  ASSERT_EQ(checked_ids(warnings), (Ids{"outliers", "wide_interval"}));
  EXPECT_EQ(warnings[0].seen, "4 of 9 points have more than 5 % of their samples far outside");
  EXPECT_EQ(warnings[1].seen, "4 of 9 points have a 95 % interval wider than ± 5 % of the figure");
  EXPECT_EQ(checked_ids(of_scattering(1, false)), (Ids{"outliers", "wide_interval"}));  // a probe
}

TEST(MeasurementWarnings, SayThatAStudyWasQuick) {
  Record record = study_with(6);
  record.quick = true;
  record.duration_s = 25;
  const auto warnings = measurement_warnings(record);
  ASSERT_EQ(checked_ids(warnings), Ids{"quick"});
  EXPECT_NE(warnings[0].seen.find("a quick study: it measured for 25.0 s"), std::string::npos)
      << warnings[0].seen;
}

}  // namespace
}  // namespace tabane::lab
