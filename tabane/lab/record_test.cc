#include "tabane/lab/record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tabane/core/error.h"
#include "tabane/lab/report_test_record.h"

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

TEST(SurveyRecord, FindsByNameOrGivesNull) {
  const auto record = testing::full_record();
  ASSERT_NE(record.find("peak.fma.core"), nullptr);
  EXPECT_EQ(record.find("peak.fma.core")->name, "peak.fma.core");
  EXPECT_EQ(record.find("peak.fma"), nullptr);
  EXPECT_EQ(record.find_table("nothing"), nullptr);
  EXPECT_EQ(record.find_table("memcpy")->name, "memcpy");
}

TEST(SurveyJson, ComesBackTheSameAfterWritingAndReading) {
  for (const auto& record : {testing::full_record(), testing::record_without_tables(),
                             testing::one_cpu_record(), SurveyRecord()}) {
    const Json json = to_json(record);
    EXPECT_EQ(to_json(survey_from_json(Json::parse(json.dump()))), json);
  }
}

TEST(SurveyJson, WritesNullForWhatWasNotMeasured) {
  SurveyRecord record;
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
  EXPECT_FALSE(survey_from_json(json).results[1].value);
}

TEST(SurveyJson, CountsOutliersOfTimesInSeconds) {
  SurveyRecord record;
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

TEST(SurveyJson, IsValidUtf8WhateverTheMachineSays) {
  EXPECT_NO_THROW(to_json(testing::hostile_record()).dump());
}

std::string error_of(const Json& json) {
  try {
    survey_from_json(json);
  } catch (const core::UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(SurveyFromJson, NamesTheMissingKeyWithItsPath) {
  Json json = to_json(testing::full_record());
  json["results"][3].erase("unit");
  EXPECT_NE(error_of(json).find("results[3].unit is missing"), std::string::npos) << error_of(json);
  const Json whole = to_json(testing::full_record());
  for (const auto& [key, value] : whole.items()) {
    Json without = whole;
    without.erase(key);
    EXPECT_NE(error_of(without).find("key " + key + " is missing"), std::string::npos) << key;
  }
}

TEST(SurveyFromJson, NamesTheKeyOfTheWrongKind) {
  Json json = to_json(testing::full_record());
  json["tables"][0]["series"][0]["x"] = "many";
  EXPECT_NE(error_of(json).find("tables[0].series[0].x must be a list"), std::string::npos);
}

TEST(SurveyFromJson, RefusesSeriesAndRowsOfUnequalLength) {
  Json json = to_json(testing::full_record());
  json["tables"][0]["series"][0]["y"].erase(0);
  EXPECT_NE(error_of(json).find("tables[0].series[0].y must be as long as x"), std::string::npos);
  json = to_json(testing::full_record());
  for (auto& table : json["tables"])
    if (table["kind"] == "matrix") table["values"][0].erase(0);
  EXPECT_NE(error_of(json).find("as long as columns"), std::string::npos);
}

TEST(SurveyFromJson, RefusesOtherSchemasAndKinds) {
  Json json = to_json(SurveyRecord());
  json["schema_version"] = 2;
  EXPECT_NE(error_of(json).find("schema_version is 2"), std::string::npos);
  json = to_json(SurveyRecord());
  json["kind"] = "study";
  EXPECT_NE(error_of(json).find("kind must be"), std::string::npos);
  EXPECT_NE(error_of(Json::array()), "");
}

TEST(SurveyFromJson, IgnoresKeysItDoesNotKnow) {
  Json json = to_json(SurveyRecord());
  json["later"] = 1;
  EXPECT_EQ(error_of(json), "");
}

}  // namespace
}  // namespace tabane::lab
