#include <gtest/gtest.h>

#include "tabane/lab/study.h"

namespace tabane::lab {
namespace {

TEST(Ha8000, ShowsTheFourDemonstrationsBesideTheReport) {
  const Study study = run_ha8000(core::Topology::detect(), true);
  ASSERT_EQ(study.tables.size(), 4u);
  // Clocks: through memory is slower than in registers, on every processor.
  const auto& clocks = study.tables[0].rows;
  EXPECT_GT(std::stod(clocks.at(1).at(1)), std::stod(clocks.at(3).at(1)));
  EXPECT_EQ(clocks.at(3).at(2), "40");
  // SIMD: one row a kernel and the head.
  EXPECT_EQ(study.tables[3].rows.size(), 5u);
  const Json json = to_json(study);
  EXPECT_EQ(json.at("schema_version"), 1);
  EXPECT_EQ(json.at("tables").size(), 4u);
}

TEST(Ha8000, KeepsWhatItHasWhenStopped) {
  SurveyHooks hooks;
  hooks.stop_requested = [] { return true; };
  const Study study = run_ha8000(core::Topology::detect(), true, hooks);
  EXPECT_FALSE(study.record.complete);
  EXPECT_EQ(to_json(study).at("kind"), "study");
}

}  // namespace
}  // namespace tabane::lab
