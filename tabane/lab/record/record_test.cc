#include "tabane/lab/record/record.h"

#include <gtest/gtest.h>

#include <limits>

#include "tabane/core/error.h"
#include "tabane/lab/page/report_record_test.h"

namespace tabane::lab {
namespace {

Result result_with(Better better, std::optional<double> value, double limit) {
  Result r;
  r.better = better;
  r.value = value;
  if (limit > 0) r.limit = Limit{limit, "by hand"};
  return r;
}

TEST(OfLimit, IsValueOverLimitOrItsInverseWhereLowerIsBetter) {
  EXPECT_DOUBLE_EQ(*result_with(Better::higher, 30, 40).of_limit(), 0.75);
  EXPECT_DOUBLE_EQ(*result_with(Better::lower, 8, 4).of_limit(), 0.5);
}

TEST(OfLimit, IsNullWithoutValueOrLimit) {
  EXPECT_FALSE(result_with(Better::higher, std::nullopt, 40).of_limit());
  EXPECT_FALSE(result_with(Better::higher, 30, 0).of_limit());
  EXPECT_FALSE(result_with(Better::lower, 0.0, 4).of_limit());
}

TEST(SetSamples, GivesMedianAndIntervalAndKeepsTheOrder) {
  Result r;
  set_samples(r, {3, 1, 2});
  EXPECT_EQ(*r.value, 2);
  EXPECT_FALSE(r.interval);  // three samples cannot bound a median with 95 %
  EXPECT_EQ(r.samples, (std::vector<double>{3, 1, 2}));
  set_samples(r, {6, 5, 4, 3, 2, 1});
  EXPECT_EQ(r.interval->low, 1);
  EXPECT_EQ(r.interval->high, 6);
}

TEST(Record, FindsByNameOrGivesNull) {
  const auto record = testing::full_record();
  ASSERT_NE(record.find("peak.fma.core"), nullptr);
  EXPECT_EQ(record.find("peak.fma.core")->name, "peak.fma.core");
  EXPECT_EQ(record.find("peak.fma"), nullptr);
  EXPECT_EQ(record.find_view("nothing"), nullptr);
  EXPECT_EQ(record.find_view("memcpy")->name, "memcpy");
}

TEST(RecordJson, ComesBackTheSameAfterWritingAndReading) {
  for (const auto& record :
       {testing::full_record(), testing::record_without_tables(), testing::one_cpu_record(),
        testing::study_record(), testing::bench_record(), Record()}) {
    const Json json = to_json(record);
    EXPECT_EQ(to_json(record_from_json(Json::parse(json.dump()))), json);
  }
}

// Everything that a view may have.
TEST(RecordJson, KeepsEveryPartOfAView) {
  Record record;
  const auto add = [&](auto content) {
    record.views.push_back(
        {.name = "v", .title = "t", .note = "n", .version = 3, .content = content});
  };
  const core::Interval interval{1, 3};
  add(Rows{{"a", "b", "c", "d"}, {{"text", {2.0, "s", interval}, Entry(), {0.5, "share"}}}});
  add(Curves{{"x", "B", true},
             {"y", "s", false},
             {{.name = "c",
               .x = {1, 2},
               .y = {3, 4},
               .low = {2, 3},
               .high = {4, 5},
               .role = Role::published,
               .joined = false,
               .flagged = {true, false},
               .colour = 0,
               .shape = 2,
               .key = ""}},
             {{5, "mark", false}},
             true});
  add(Matrix{"s",
             Better::higher,
             {"r"},
             {"c", "d"},
             {{1.0, std::nullopt}},
             "rows",
             "columns",
             Matrix::Cell{0, 1},
             core::Interval{1, 16},
             true});
  add(Bars{"share", {{"g", "l", 0.5, interval, "from", 1.0}}, 1, true, true});
  add(Image{"a dot", "Zm9v"});
  const Record back = record_from_json(to_json(record));
  const auto& curve = std::get<Curves>(back.views[1].content).series[0];
  EXPECT_EQ(curve.role, Role::published);
  EXPECT_FALSE(curve.joined);
  EXPECT_EQ(curve.flagged, (std::vector<bool>{true, false}));
  EXPECT_EQ(curve.colour, 0);
  EXPECT_EQ(curve.key, "");
  EXPECT_EQ(std::get<Rows>(back.views[0].content).rows[0][1].interval->high, 3);
  EXPECT_EQ(std::get<Matrix>(back.views[2].content).framed->column, 1u);
  EXPECT_EQ(std::get<Bars>(back.views[3].content).bars[0].target, 1.0);
  EXPECT_EQ(std::get<Image>(back.views[4].content).png_base64, "Zm9v");
  EXPECT_EQ(to_json(back), to_json(record));
}

TEST(RecordJson, KeepsFactorsInTheirOrder) {
  Record record;
  record.results.emplace_back().factors = {{"way", "flags"}, {"ranks", 8}};
  const Json json = to_json(record);
  EXPECT_EQ(json["results"][0]["factors"].dump(), R"({"way":"flags","ranks":8.0})");
  EXPECT_EQ(record_from_json(json).results[0].factors, record.results[0].factors);
}

TEST(RecordJson, WritesNullForWhatWasNotMeasured) {
  Record record;
  record.results.push_back(result_with(Better::higher, std::nullopt, 0));
  record.results.push_back(
      result_with(Better::higher, std::numeric_limits<double>::quiet_NaN(), 0));
  const Json json = to_json(record);
  for (const auto& result : json["results"]) {
    EXPECT_TRUE(result["value"].is_null());
    EXPECT_TRUE(result["limit"].is_null());
    EXPECT_TRUE(result["of_limit"].is_null());
    EXPECT_TRUE(result["outliers"]["far_fence"].is_null());
  }
  EXPECT_FALSE(record_from_json(json).results[1].value);
}

TEST(RecordJson, CountsOutliersOfTimesInSeconds) {
  Record record;
  Result r;
  r.unit = "ms";
  set_samples(r, {1000, 1001, 1002, 1003, 1004, 1005, 1006, 9000});
  record.results.push_back(r);
  r.unit = "B/s";
  record.results.push_back(r);
  const Json json = to_json(record);
  EXPECT_EQ(json["results"][0]["outliers"]["mean_plus_1_s"], 1);
  EXPECT_EQ(json["results"][0]["outliers"]["far_fence"], 1);
  EXPECT_TRUE(json["results"][1]["outliers"]["mean_plus_1_s"].is_null());
}

TEST(RecordJson, IsValidUtf8WhateverTheMachineSays) {
  EXPECT_NO_THROW(to_json(testing::hostile_record()).dump());
}

std::string error_of(const Json& json) {
  try {
    record_from_json(json);
  } catch (const core::UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(RecordFromJson, NamesTheMissingKeyWithItsPath) {
  Json json = to_json(testing::full_record());
  json["results"][3].erase("unit");
  EXPECT_NE(error_of(json).find("results[3].unit is missing"), std::string::npos) << error_of(json);
  const Json whole = to_json(testing::full_record());
  for (const auto& [key, value] : whole.items()) {
    if (key == "advice") continue;  // only there if there is any
    Json without = whole;
    without.erase(key);
    const std::string said = key == "schema_version" ? "no record" : "key " + key + " is missing";
    EXPECT_NE(error_of(without).find(said), std::string::npos) << key;
  }
}

// A study with one chart.
Json with_curve() {
  Record record;
  record.kind = Kind::study;
  Curves curves{{"ranks", "1", false}, {"time", "s", true}, {}};
  curves.series.push_back({.name = "a", .x = {1, 2}, .y = {3, 4}});
  record.views.push_back({.name = "a.b", .title = "", .content = std::move(curves)});
  return to_json(record);
}

TEST(RecordFromJson, NamesTheKeyOfTheWrongKind) {
  Json json = with_curve();
  json["views"][0]["series"][0]["x"] = "many";
  EXPECT_NE(error_of(json).find("views[0].series[0].x must be a list"), std::string::npos);
}

TEST(RecordFromJson, RefusesSeriesAndRowsOfUnequalLength) {
  Json json = with_curve();
  json["views"][0]["series"][0]["y"].erase(0);
  EXPECT_NE(error_of(json).find("views[0].series[0].y must be as long as x"), std::string::npos);
  json = to_json(testing::full_record());
  for (auto& view : json["views"])
    if (view["kind"] == "matrix") view["values"][0].erase(0);
  EXPECT_NE(error_of(json).find("as long as columns"), std::string::npos);
}

TEST(RecordFromJson, RefusesAPictureThatIsNoBase64) {
  Record record;
  record.views.push_back({.name = "v", .title = "t", .content = Image{"a dot", "\"><script>"}});
  EXPECT_NE(error_of(to_json(record)).find("png_base64"), std::string::npos);
}

TEST(RecordFromJson, RefusesOtherSchemasAndKinds) {
  Json json = to_json(Record());
  for (const int version : {1, 3}) {
    json["schema_version"] = version;
    EXPECT_NE(error_of(json).find("schema_version is " + std::to_string(version)),
              std::string::npos);
  }
  json = to_json(Record());
  json["kind"] = "novel";
  EXPECT_NE(error_of(json).find("kind must be"), std::string::npos);
  EXPECT_NE(error_of(Json::array()), "");
}

TEST(RecordFromJson, IgnoresKeysItDoesNotKnow) {
  Json json = to_json(Record());
  json["later"] = 1;
  EXPECT_EQ(error_of(json), "");
}

Comparison compared(double ratio, double low, double high, std::optional<double> target) {
  Comparison c;
  c.ratio = core::Ratio{ratio, {low, high}, 9};
  c.target = target;
  return c;
}

TEST(ComparisonMet, IsNullWithoutTargetOrMeasurement) {
  EXPECT_FALSE(compared(2, 1.9, 2.1, std::nullopt).met());
  Comparison skipped;
  skipped.target = 1;
  EXPECT_FALSE(skipped.met());
}

TEST(ComparisonMet, HoldsTheRatioAgainstItsTarget) {
  EXPECT_TRUE(*compared(1.2, 1.1, 1.3, 1).met());
  EXPECT_FALSE(*compared(0.9, 0.8, 0.95, 1).met());
  EXPECT_TRUE(*compared(0.99, 0.9, 1.1, 1).met());     // no difference seen
  EXPECT_FALSE(*compared(0.49, 0.4, 0.6, 0.5).met());  // a share must be reached
}

TEST(ComparisonMet, HoldsAFigureAgainstItsLimit) {
  Comparison c;
  c.figure = "memory";
  c.value = 3;
  EXPECT_FALSE(c.met());
  c.limit = 3;
  EXPECT_TRUE(*c.met());
  c.limit = 2;
  EXPECT_FALSE(*c.met());
  c.at_least = true;
  EXPECT_TRUE(*c.met());
}

Result passes_of(std::vector<double> samples, std::vector<double> limit = {}) {
  Result result{.name = "r", .what = "", .unit = "B/s", .better = Better::higher};
  set_samples(result, std::move(samples));
  if (!limit.empty()) set_limit(result, "in turn", std::move(limit));
  return result;
}

TEST(AddPass, JoinsSamplesAndLimitsAndTakesTheIntervalOfThePasses) {
  Result result = passes_of({10, 10, 10}, {20, 20, 20});
  for (const double moment : {12, 14, 16, 18, 20})
    add_pass(result, passes_of({moment, moment, moment}, {40, 40, 40}));
  EXPECT_EQ(result.passes, core::PassSizes(6, 3));
  EXPECT_EQ(result.samples.size(), 18u);
  EXPECT_EQ(result.value, 15);
  EXPECT_EQ(result.interval->low, 10);
  EXPECT_EQ(result.interval->high, 20);
  const auto share = result.share_of_limit();
  ASSERT_TRUE(share);
  EXPECT_EQ(share->pairs, 18u);
  EXPECT_DOUBLE_EQ(share->interval.low, 0.3);
  EXPECT_DOUBLE_EQ(share->interval.high, 0.5);
}

TEST(AddPass, TakesAFigureWithoutSamplesAsOneAndLeavesOutAPassWithoutAny) {
  Result result{.name = "r", .what = "", .unit = "ns"};
  Result later = result;
  result.reason = "a thread did not get its CPU";
  later.value = 5;
  add_pass(result, later);
  EXPECT_EQ(result.value, 5);
  EXPECT_TRUE(result.reason.empty());
  add_pass(result, Result{.name = "r", .what = "", .unit = "ns"});
  later.value = 9;
  add_pass(result, later);
  EXPECT_EQ(result.samples, (std::vector<double>{5, 9}));
  EXPECT_EQ(result.value, 7);
}

TEST(Result, OfPassesIsReadAsItWasWritten) {
  Record record;
  Result result = passes_of({10, 11, 12}, {20, 20, 20});
  add_pass(result, passes_of({13, 14, 15}, {20, 20, 20}));
  record.results.push_back(result);
  record.advice = {{"id", "change", "gain", "command"}};
  const Record read = record_from_json(to_json(record));
  EXPECT_EQ(read.results[0].passes, result.passes);
  EXPECT_EQ(read.results[0].limit->samples, result.limit->samples);
  EXPECT_EQ(read.advice[0].gain, "gain");
  EXPECT_EQ(to_json(read), to_json(record));
  Json wrong = to_json(record);
  wrong["results"][0]["passes"] = {1, 2};
  EXPECT_THROW(record_from_json(wrong), core::UsageError);
}

View curves(std::vector<Curve> series) {
  return {.name = "v", .title = "", .content = Curves{{"x", "", false}, {"y", "", false}, series}};
}

TEST(JoinPasses, TakesTheMedianOfEachPointThatAPassHas) {
  const std::vector<View> passes = {curves({{"a", {1, 2}, {10, 20}}}),
                                    curves({{"a", {1}, {30}}, {"b", {1}, {5}}}),
                                    curves({{"a", {1, 3}, {20, 7}}})};
  const View joined = join_passes(passes);
  const auto& series = std::get<Curves>(joined.content).series;
  ASSERT_EQ(series.size(), 2u);
  EXPECT_EQ(series[0].x, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(series[0].y, (std::vector<double>{20, 20, 7}));
  EXPECT_EQ(series[0].low, (std::vector<double>{10, 20, 7}));
  EXPECT_EQ(series[0].high, (std::vector<double>{30, 20, 7}));
  EXPECT_EQ(series[1].y, (std::vector<double>{5}));
}

TEST(JoinPasses, LeavesASinglePassAlone) {
  const std::vector<View> one = {curves({{"a", {1}, {10}, {8}, {12}}})};
  EXPECT_EQ(std::get<Curves>(join_passes(one).content).series[0].low, (std::vector<double>{8}));
}

TEST(JoinPasses, FillsAMatrixFromPassesThatSawAPartOfIt) {
  const auto matrix = [](std::vector<std::string> names,
                         std::vector<std::vector<std::optional<double>>> values) {
    return View{.name = "m",
                .title = "",
                .content = Matrix{"ns", Better::lower, names, names, std::move(values)}};
  };
  const std::vector<View> passes = {matrix({"0", "1"}, {{{}, 30.0}, {30.0, {}}}),
                                    matrix({"1", "0"}, {{{}, 50.0}, {50.0, {}}}),
                                    matrix({"0"}, {{{}}})};
  const View joined = join_passes(passes);
  const auto& values = std::get<Matrix>(joined.content).values;
  ASSERT_EQ(values.size(), 2u);
  EXPECT_EQ(values[0][1], 40.0);
  EXPECT_FALSE(values[0][0]);
}

TEST(JoinPasses, JoinsRowsByTheirFirstEntry) {
  const auto rows = [](double sum, double dot) {
    return View{.name = "r",
                .title = "",
                .content = Rows{{"kernel", "rate"},
                                {{"sum", Entry(sum, "FLOP/s")}, {"dot", Entry(dot, "FLOP/s")}}}};
  };
  const View joined = join_passes(std::vector<View>{rows(1, 10), rows(3, 20), rows(2, 60)});
  const auto& table = std::get<Rows>(joined.content).rows;
  EXPECT_EQ(table[0][1].value, 2.0);
  EXPECT_EQ(table[1][1].value, 20.0);
}

}  // namespace

}  // namespace tabane::lab
