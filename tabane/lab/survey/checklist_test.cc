#include <gtest/gtest.h>

#include "tabane/lab/page/report_record_test.h"
#include "tabane/lab/survey/present.h"

namespace tabane::lab {
namespace {

std::string status(const Record& record, std::size_t rule) {
  return fill_checklist(record).at(rule - 1).status;
}

TEST(FillChecklist, HasTwelveNumberedRulesWithEvidence) {
  const auto rows = fill_checklist(testing::full_record());
  ASSERT_EQ(rows.size(), 12u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].rule, std::to_string(i + 1));
    EXPECT_FALSE(rows[i].evidence.empty());
    EXPECT_TRUE(rows[i].status == "kept" || rows[i].status == "partly" ||
                rows[i].status == "not applicable");
  }
}

TEST(FillChecklist, KeepsNothingThatAnEmptyRecordDoesNotShow) {
  Record empty;
  for (const auto& row : fill_checklist(empty)) EXPECT_NE(row.status, "kept") << row.rule;
}

TEST(FillChecklist, IsPartlyKeptWhenTheSurveyWasStopped) {
  auto record = testing::full_record();
  EXPECT_EQ(status(record, 2), "kept");
  record.complete = false;
  EXPECT_EQ(status(record, 2), "partly");
}

TEST(FillChecklist, SeesAFigureWithoutInterval) {
  auto record = testing::full_record();
  EXPECT_EQ(status(record, 5), "kept");
  record.results[0].interval.reset();
  EXPECT_EQ(status(record, 5), "partly");
}

TEST(FillChecklist, SeesWhatCouldNotBeReadOfTheEnvironment) {
  auto record = testing::full_record();
  EXPECT_EQ(status(record, 9), "partly");
  record.environment["processor"]["governor"] = "performance";
  EXPECT_EQ(status(record, 9), "kept");
}

TEST(FillChecklist, DoesNotClaimSynchronisationThatTheRecordDoesNotTell) {
  auto record = testing::full_record();
  EXPECT_EQ(status(record, 10), "partly");
  for (auto& r : record.results) r.details[detail::kSynchronisation] = "barrier";
  for (auto& t : record.views) t.details[detail::kSynchronisation] = "barrier";
  EXPECT_EQ(status(record, 10), "kept");
  EXPECT_EQ(status(testing::record_without_tables(), 10), "not applicable");
}

}  // namespace
}  // namespace tabane::lab
