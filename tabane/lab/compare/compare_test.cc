#include "tabane/lab/compare/compare.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <tuple>

#include "tabane/core/error.h"
#include "tabane/lab/record/published.h"

namespace tabane::lab {
namespace {

Result figure(const std::string& name, const std::string& unit, Better better,
              std::vector<double> samples) {
  Result result;
  result.name = name;
  result.unit = unit;
  result.better = better;
  set_samples(result, std::move(samples));
  return result;
}

struct Invented {
  unsigned seed = 1;           // of a run
  double slower = 1;           // all times are so many times as long
  double between_runs = 0.02;  // standard deviation of logarithms
  std::string machine = "alpha";
};

// Thirty times and thirty rates of a machine, each with noise of 1 % within the run.
Record run_of(const Invented& invented) {
  std::mt19937 random(invented.seed);
  std::normal_distribution<double> normal;
  Record record;
  record.machine = {{"name", invented.machine}, {"cpu_model", "a processor"}};
  Curve curve{.name = "walk", .x = {}, .y = {}};
  for (int i = 0; i < 60; ++i) {
    const bool time = i % 2 == 0;
    const double slower = time ? invented.slower : 1 / invented.slower;
    const double base = (1 + i) * slower * std::exp(invented.between_runs * normal(random));
    std::vector<double> samples;
    for (int k = 0; k < 21; ++k) samples.push_back(base * std::exp(0.01 * normal(random)));
    record.results.push_back(figure(fmt::format("figure.{}", i), time ? "s" : "B/s",
                                    time ? Better::lower : Better::higher, samples));
    curve.x.push_back(i);
    curve.y.push_back(base);
  }
  record.views.push_back({.name = "chart",
                          .title = "A chart",
                          .content = Curves{{"size", "B"}, {"time", "s"}, {curve}}});
  return record;
}

Comparisons compared(Record a, Record b, double threshold = 0.05) {
  return compare({{"a", std::move(a)}, {"b", std::move(b)}}, {.threshold = threshold});
}

std::size_t differing(const Comparisons& all) {
  const BesideBaseline& other = all.others.at(0);
  return other.figures.size() - other.count(Finding::none) - other.count(Finding::few) -
         other.count(Finding::unknown);
}

std::string refusal_of(const std::vector<Side>& sides) {
  try {
    compare(sides, {});
  } catch (const core::UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(IndependentRatioInterval, IsThatOfTheQuotientOfTwoLogarithmicIntervals) {
  // Both ends a factor of e away: sqrt(1 + 1) in logarithms.
  const double e = std::exp(1.0), both = std::exp(std::sqrt(2.0));
  const core::Interval interval = independent_ratio_interval(6, {6 / e, 6 * e}, 2, {2 / e, 2 * e});
  EXPECT_NEAR(interval.low, 3 / both, 1e-12);
  EXPECT_NEAR(interval.high, 3 * both, 1e-12);
  // An exact baseline leaves the other's own interval.
  const core::Interval own = independent_ratio_interval(6, {5, 8}, 2, {2, 2});
  EXPECT_NEAR(own.low, 2.5, 1e-12);
  EXPECT_NEAR(own.high, 4, 1e-12);
}

TEST(IndependentRatioInterval, ContainsTheTruthInAboutNineteenOfTwentyCases) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  const auto samples = [&] {
    std::vector<double> out;
    for (int i = 0; i < 25; ++i) out.push_back(std::exp(0.1 * normal(random)));
    return out;
  };
  int contained = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto a = samples(), b = samples();
    contained += independent_ratio_interval(core::median(a), core::median_interval(a),
                                            core::median(b), core::median_interval(b))
                     .contains(1);
  }
  EXPECT_GT(contained, 1860);
}

TEST(Compare, SeesNoDifferenceBetweenARecordAndItself) {
  const Record record = run_of({});
  const Comparisons all = compared(record, record, 0);
  EXPECT_EQ(all.others.at(0).count(Finding::none), record.results.size());
  EXPECT_FALSE(all.regression());
}

TEST(Compare, SeesHardlyAnyDifferenceBetweenTwoRunsOnOneMachine) {
  std::size_t differences = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Comparisons all = compared(run_of({.seed = seed, .between_runs = 0.06}),
                                     run_of({.seed = seed + 100, .between_runs = 0.06}));
    differences += differing(all);
    EXPECT_FALSE(all.regression());
  }
  EXPECT_LE(differences, 12u);  // 1 % of 1200
}

// Figures that have two states, 1 and 1.4 times a base, each of which comes with the same chance.
Record of_two_states(unsigned seed, std::size_t samples, double slower = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Record record;
  for (int i = 0; i < 60; ++i) {
    std::vector<double> seen;
    for (std::size_t k = 0; k < samples; ++k) {
      seen.push_back((random() % 2 == 0 ? 1 : 1.4) * std::exp(0.003 * normal(random)));
      if (i == 7) seen.back() *= slower;
    }
    record.results.push_back(figure(fmt::format("figure.{}", i), "s", Better::lower, seen));
  }
  return record;
}

TEST(Compare, NamesNoDifferenceBecauseAFewSamplesAreAllInOneState) {
  constexpr int kComparisons = 500;
  for (const std::size_t samples : {6, 7, 8, 12, 20, 30}) {
    int wrong = 0, regressions = 0;
    for (unsigned seed = 0; seed < kComparisons; ++seed) {
      const Comparisons all =
          compared(of_two_states(2 * seed, samples), of_two_states(2 * seed + 1, samples));
      wrong += differing(all) > 0;
      regressions += all.regression();
    }
    EXPECT_LE(wrong, kComparisons / 100) << samples << " samples";
    EXPECT_LE(regressions, kComparisons / 100) << samples << " samples";
  }
}

TEST(Compare, FindsWhatDiffersBetweenTwoStatesWithEnoughSamples) {
  const Comparisons few = compared(of_two_states(1, 6), of_two_states(2, 6, 3));
  EXPECT_EQ(few.others.at(0).figures.at(0).name, "figure.7");
  EXPECT_EQ(few.others[0].figures[0].finding, Finding::few);
  EXPECT_FALSE(few.regression());
  const Rows table = figure_table({{"a", {}}, {"b", {}}}, 0, few.others[0], false);
  EXPECT_EQ(table.rows.at(0).back().text, "too few samples");
  EXPECT_NE(few.record.sentences.at(0).find("1 may differ, but too few samples show it"),
            std::string::npos)
      << few.record.sentences[0];
  for (unsigned seed = 0; seed < 50; ++seed) {
    const Comparisons enough =
        compared(of_two_states(2 * seed, 20), of_two_states(2 * seed + 1, 20, 3));
    ASSERT_EQ(enough.others.at(0).figures.at(0).name, "figure.7");
    EXPECT_EQ(enough.others[0].figures[0].finding, Finding::worse) << seed;
  }
}

TEST(Compare, FindsAMachineThatBecameSlowerByThirtyPerCent) {
  const Comparisons all = compared(run_of({.seed = 1}), run_of({.seed = 2, .slower = 1.3}));
  EXPECT_TRUE(all.regression());
  EXPECT_EQ(all.others.at(0).count(Finding::worse), 60u);
  const Rows table = figure_table({{"a", {}}, {"b", {}}}, 0, all.others[0], false);
  EXPECT_EQ(table.rows.at(0).back().text, "slower");
  EXPECT_TRUE(table.rows[0][4].text.ends_with(" times as slow")) << table.rows[0][4].text;
  const Comparisons back = compared(run_of({.seed = 2, .slower = 1.3}), run_of({.seed = 1}));
  EXPECT_FALSE(back.regression());
  EXPECT_EQ(back.others.at(0).count(Finding::better), 60u);
}

TEST(Compare, FindsTheOneFigureThatBecameSlower) {
  Record later = run_of({.seed = 2});
  Result& slow = later.results[10];
  for (double& sample : slow.samples) sample *= 1.5;
  set_samples(slow, slow.samples);
  const Comparisons all = compared(run_of({.seed = 1}), later);
  EXPECT_EQ(differing(all), 1u);
  EXPECT_EQ(all.others.at(0).figures.at(0).name, "figure.10");
  EXPECT_TRUE(all.regression());
}

TEST(Compare, CountsNoDifferenceBelowTheThreshold) {
  Record later = run_of({.slower = 1.3});
  EXPECT_GT(differing(compared(run_of({}), later, 0.05)), 0u);
  EXPECT_EQ(differing(compared(run_of({}), later, 0.5)), 0u);
}

TEST(Compare, SortsDifferencesByTheirFactor) {
  Record later = run_of({.seed = 2});
  for (const std::size_t i : {4, 20}) {
    for (double& sample : later.results[i].samples) sample *= i == 4 ? 1.5 : 4;
    set_samples(later.results[i], later.results[i].samples);
  }
  const auto figures = compared(run_of({.seed = 1}), later).others.at(0).figures;
  EXPECT_EQ(figures[0].name, "figure.20");
  EXPECT_EQ(figures[1].name, "figure.4");
  EXPECT_EQ(figures[2].finding, Finding::none);
}

// The ratio of a rate is below 1 where that of a time is above: the words say what both mean.
TEST(Compare, SaysWhichWayEachRatioGoes) {
  Record a, b;
  for (const auto& [name, unit, better, factor] :
       {std::tuple("time", "s", Better::lower, 2.0), std::tuple("rate", "B/s", Better::higher, 0.5),
        std::tuple("memory", "B", Better::lower, 4.0),
        std::tuple("count", "1", Better::neither, 3.0)}) {
    a.results.push_back(figure(name, unit, better, std::vector<double>(9, 10)));
    b.results.push_back(figure(name, unit, better, std::vector<double>(9, 10 * factor)));
  }
  const Comparisons all = compared(a, b);
  std::map<std::string, std::string> words;
  for (const auto& row : figure_table({{"a", {}}, {"b", {}}}, 0, all.others[0], true).rows)
    words[row[0].text] = row[4].text;
  EXPECT_EQ(words["time"], "2.00 times as slow");
  EXPECT_EQ(words["rate"], "2.00 times as slow");
  EXPECT_EQ(words["memory"], "4.00 times as much: worse");
  EXPECT_EQ(words["count"], "3.00 times as much");
  const auto* bars = find_content<Bars>(all.record, "compare.ratios.2");
  ASSERT_NE(bars, nullptr);
  for (const Bar& bar : bars->bars)
    if (bar.label == "rate") {
      EXPECT_EQ(bar.group, "slower");
    }
  EXPECT_EQ(bars->bars.size(), 4u);
}

TEST(Compare, ShowsNoBarsWhereNothingDiffers) {
  const Record record = run_of({});
  EXPECT_EQ(find_content<Bars>(compared(record, record).record, "compare.ratios.2"), nullptr);
}

TEST(Compare, LeavesOutOtherVersionsOfAProbeAndNamesThem) {
  Record later = run_of({.seed = 2});
  later.results[3].version = 2;
  later.views[0].version = 2;
  const Comparisons all = compared(run_of({.seed = 1}), later);
  EXPECT_EQ(all.others.at(0).figures.size(), 59u);
  ASSERT_EQ(all.record.skipped.size(), 2u);
  EXPECT_EQ(all.record.skipped[0].name, "b/figure.3");
  EXPECT_NE(all.record.skipped[0].reason.find("version 2"), std::string::npos);
  EXPECT_EQ(all.record.skipped[1].name, "b/chart chart");
}

TEST(Compare, RefusesRecordsWithNothingInCommon) {
  Record a = run_of({}), b = run_of({});
  for (Result& result : b.results) result.version = 2;
  b.views.clear();
  EXPECT_NE(refusal_of({{"a", a}, {"b", b}}).find("version 2"), std::string::npos);
  EXPECT_NE(refusal_of({{"a", a}, {"b", Record()}}), "");
  EXPECT_NE(refusal_of({{"a", a}}), "");
  EXPECT_NE(refusal_of({{"a", a}, {"b", compared(a, a).record}}).find("itself"), std::string::npos);
}

TEST(Compare, SaysNothingAboutFiguresWithoutInterval) {
  Record survey = run_of({});
  survey.results.push_back(
      figure("memcpy", "B/s", Better::higher, {20e9, 20e9, 20e9, 20e9, 20e9, 20e9, 20e9}));
  survey.results.back().version = 3;
  const Comparisons all = compared(survey, published("pc-cluster"));
  ASSERT_EQ(all.others.at(0).figures.size(), 1u);
  const FigureRatio& memcpy = all.others[0].figures[0];
  EXPECT_EQ(memcpy.finding, Finding::unknown);
  EXPECT_FALSE(memcpy.interval);
  EXPECT_NEAR(memcpy.ratio, 13.500416 / 20, 1e-9);
  EXPECT_FALSE(all.regression());
  EXPECT_NE(all.record.sentences[0].find("1 figure is shown with a ratio that is not judged"),
            std::string::npos)
      << all.record.sentences[0];
}

TEST(Compare, DrawsAllCurvesInOneChartAndTheirRatiosInAnother) {
  Record b = run_of({.machine = "beta"});
  auto& curve = std::get<Curves>(b.views[0].content).series[0];
  for (double& y : curve.y) y *= 2;
  curve.x[0] = 0.5;  // not measured by the other
  const Record record = compared(run_of({}), b).record;
  const auto* merged = find_content<Curves>(record, "chart");
  ASSERT_NE(merged, nullptr);
  ASSERT_EQ(merged->series.size(), 2u);
  EXPECT_EQ(merged->series[1].name, "b: walk");
  const auto* ratio = find_content<Curves>(record, "chart.ratio");
  ASSERT_NE(ratio, nullptr);
  ASSERT_EQ(ratio->series.size(), 1u);
  EXPECT_EQ(ratio->series[0].x.size(), 59u);
  EXPECT_NEAR(ratio->series[0].y[0], 2, 1e-9);
}

TEST(Compare, TakesWhatRunsDifferByFromTwoRecordsOfOneMachine) {
  const std::vector<Side> sides = {{"a", run_of({.seed = 1, .between_runs = 0.08})},
                                   {"a again", run_of({.seed = 2, .between_runs = 0.08})},
                                   {"b", run_of({.seed = 3, .machine = "beta"})}};
  const Comparisons all = compare(sides, {});
  EXPECT_NEAR(all.others.at(0).scatter, 0.08 * std::sqrt(2.0), 0.05);
  EXPECT_EQ(all.others.at(1).scatter, all.others.at(0).scatter);
  EXPECT_EQ(compared(sides[0].record, sides[2].record).others.at(0).scatter, 0);
}

TEST(Compare, WritesARecordThatCanBeReadAgain) {
  const Record record = compared(run_of({}), run_of({.seed = 2, .slower = 2})).record;
  const Json json = to_json(record);
  EXPECT_EQ(json.at("kind"), "comparison");
  EXPECT_EQ(to_json(record_from_json(Json::parse(json.dump()))), json);
}

TEST(LabelsOf, AreMachinesOrFilesWhereMachinesAreEqual) {
  const std::vector<Record> records = {run_of({}), run_of({}), run_of({.machine = "beta"}), {}};
  const std::vector<std::string> stems = {"old", "old", "x", "y"};
  EXPECT_EQ(labels_of(records, stems), (std::vector<std::string>{"old", "old (2)", "beta", "y"}));
}

TEST(Published, AllFilesCanBeRead) {
  for (const std::string& name : published_names()) {
    EXPECT_EQ(published(name).name, name);
    EXPECT_FALSE(published(name).results.empty()) << name;
  }
}

}  // namespace
}  // namespace tabane::lab
