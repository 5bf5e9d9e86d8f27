#include "tabane/lab/survey/disturbances.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tabane::lab {
namespace {

std::vector<std::string> warning_ids(const Record& record) {
  std::vector<std::string> found;
  for (const Warning& warning : record.warnings) found.push_back(warning.id);
  return found;
}

TEST(Disturbances, AreToldOfTheMachineBeforeAndOfTheSamplesAfterwards) {
  Record record;
  record.kind = Kind::study;
  record.environment["system"]["running at start"] = 3;
  const Disturbances disturbances(record, core::Topology::synthetic("core:4 pu:1"));
  EXPECT_EQ(warning_ids(record), std::vector<std::string>{"busy"});
  Result& point = record.results.emplace_back();
  point.factors = {{"way", "a"}};
  set_samples(point, {1, 2});
  disturbances.tell(record);
  EXPECT_EQ(warning_ids(record).front(), "busy");
  EXPECT_EQ(std::ranges::count(warning_ids(record), "few_runs"), 1);
}

TEST(Disturbances, DoNotTakeTheRanksOfThisProgramForOthers) {
  const auto seen_with = [](int own_tasks) {
    Record record;
    record.environment["system"]["running at start"] = 5;
    const Disturbances made(record, core::Topology::synthetic("core:4 pu:1"), own_tasks);
    return record.warnings.empty() ? "" : record.warnings[0].seen;
  };
  EXPECT_EQ(seen_with(1), "other tasks running at the start: 4");
  EXPECT_EQ(seen_with(4), "other tasks running at the start: 1");
  EXPECT_EQ(seen_with(5), "");
  EXPECT_EQ(seen_with(8), "");  // some of them slept
}

}  // namespace
}  // namespace tabane::lab
