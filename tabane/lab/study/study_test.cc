#include "tabane/lab/study/study.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tabane::lab {
namespace {

TEST(StudyOptions, NameTheFlagTheValueAndWhatIsLegal) {
  EXPECT_NO_THROW(require_option(true, "--runs", 1, "at most 9"));
  try {
    require_option(false, "--runs", 10, "at most 9");
    FAIL();
  } catch (const core::UsageError& error) {
    EXPECT_STREQ(error.what(), "--runs 10: at most 9");
  }
}

TEST(RunningStudy, TellsOfAShortStudyAndOfFewRunsAsASurveyDoes) {
  RunningStudy study(core::Topology::detect(), {"some-study", "A study", ""}, true);
  Campaign campaign({});
  campaign.add(
      block_in_turn("a block", {{{{"way", "a"}}, [] { return Sample{1.0}; }}}, {.most = 2}));
  study.add(campaign, campaign.run(), [](const Point&) { return "a point"; });
  const Record record = study.finish();
  for (const char* id : {"quick", "few_runs"})
    EXPECT_EQ(std::ranges::count(record.warnings, id, &Warning::id), 1) << id;
  ASSERT_NE(record.find("some_study.a"), nullptr);
  EXPECT_EQ(record.find("some_study.a")->samples.size(), 2u);
}

TEST(RunningStudy, LeavesOutWhatTheStudyJudgesItself) {
  const auto has_outliers = [](std::initializer_list<std::string_view> judged) {
    RunningStudy study(core::Topology::detect(), {"some-study", "A study", ""}, false);
    Result& point = study.record.results.emplace_back();
    point.factors = {{"way", "a"}};
    std::vector<double> samples;
    for (int i = 0; i < 60; ++i) samples.push_back(i % 10 == 0 ? 200 : 100 + i * 7 % 11 * 0.1);
    set_samples(point, samples);
    return std::ranges::count(study.finish(judged).warnings, "outliers", &Warning::id) == 1;
  };
  EXPECT_TRUE(has_outliers({}));
  EXPECT_FALSE(has_outliers({"outliers"}));
}

}  // namespace
}  // namespace tabane::lab
