#include "tabane/lab/survey/disturbances.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tabane::lab {
namespace {

std::vector<std::string> ids(const Record& record) {
  std::vector<std::string> found;
  for (const Warning& warning : record.warnings) found.push_back(warning.id);
  return found;
}

TEST(Disturbances, AreToldOfTheMachineBeforeAndOfTheSamplesAfterwards) {
  Record record;
  record.kind = Kind::study;
  record.environment["system"]["running at start"] = 3;
  const Disturbances disturbances(record, core::Topology::synthetic("core:4 pu:1"));
  EXPECT_EQ(ids(record), std::vector<std::string>{"busy"});
  Result& point = record.results.emplace_back();
  point.factors = {{"way", "a"}};
  set_samples(point, {1, 2});
  disturbances.tell(record);
  EXPECT_EQ(ids(record).front(), "busy");
  EXPECT_EQ(std::ranges::count(ids(record), "few_runs"), 1);
}

}  // namespace
}  // namespace tabane::lab
