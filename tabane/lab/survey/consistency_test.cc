#include <gtest/gtest.h>

#include "tabane/lab/probes/working_set.h"
#include "tabane/lab/survey/survey.h"

namespace tabane::lab {
namespace {

void add_result(Record& record, std::string name, double value, double half = 0) {
  Result& result = record.results.emplace_back();
  result.name = std::move(name);
  result.unit = result.name.starts_with("memory.latency") ? "ns" : "B/s";
  result.better = result.unit == "ns" ? Better::lower : Better::higher;
  result.value = value;
  result.interval = core::Interval{value - half, value + half};
}

std::vector<std::string> contradiction_ids(const Record& record) {
  std::vector<std::string> found;
  for (const Contradiction& one : contradictions(record)) found.push_back(one.id);
  return found;
}

using Ids = std::vector<std::string>;

TEST(Contradictions, AreNotSeenInASoundSurvey) {
  Record record;
  add_result(record, "peak.fma.core", 120e9);
  add_result(record, "peak.fma.machine", 236e9);
  add_result(record, "memory.bandwidth.read.l1.core", 400e9);
  add_result(record, "memory.bandwidth.read.l2.core", 200e9);
  add_result(record, "memory.bandwidth.read.dram.core", 17e9);
  add_result(record, "memory.bandwidth.set.dram.core", 24e9);
  add_result(record, "memory.bandwidth.copy.dram.core", 24e9);
  add_result(record, "memory.latency.l1", 1.2);
  add_result(record, "memory.latency.dram", 120);
  EXPECT_EQ(contradiction_ids(record), Ids{});
}

TEST(Contradictions, SeeAllCoresSlowerThanOne) {
  Record record;
  add_result(record, "peak.fma.core", 130e9, 1e9);
  add_result(record, "peak.fma.machine", 75.9e9, 1e9);
  ASSERT_EQ(contradiction_ids(record), Ids{"slower_together"});
  const std::string seen = contradictions(record)[0].seen;
  EXPECT_NE(seen.find("peak.fma.core 130 GB/s and peak.fma.machine 75.9 GB/s (all cores"),
            std::string::npos)
      << seen;
  EXPECT_EQ(doubtful_results(record), (std::set<std::string>{"peak.fma.core", "peak.fma.machine"}));
}

TEST(Contradictions, LeaveFiguresAloneWhoseIntervalsMeet) {
  Record record;
  add_result(record, "memory.bandwidth.triad.dram.core", 54e9, 20e9);
  add_result(record, "memory.bandwidth.triad.dram.machine", 30e9, 10e9);
  EXPECT_EQ(contradiction_ids(record), Ids{});
}

TEST(Contradictions, SeeAFartherLevelThatIsFaster) {
  Record record;
  add_result(record, "memory.latency.l2", 6);
  add_result(record, "memory.latency.l3", 4);
  add_result(record, "memory.bandwidth.copy.l2.core", 100e9);
  add_result(record, "memory.bandwidth.copy.dram.core", 130e9);
  EXPECT_EQ(contradiction_ids(record), (Ids{"farther_is_better", "farther_is_better"}));
}

TEST(Contradictions, SeeACopyThatMovesMoreThanTheBus) {
  Record record;
  add_result(record, "memory.bandwidth.read.dram.machine", 20e9);
  add_result(record, "memory.bandwidth.set.dram.machine", 20e9);
  add_result(record, "memory.bandwidth.copy.dram.machine", 45e9);
  EXPECT_EQ(contradiction_ids(record), Ids{"above_the_bus"});
}

// Reading is faster than writing: the sum of both would allow what the writing does not.
TEST(Contradictions, SeeACopyThatWritesMoreThanWritingAlone) {
  Record record;
  add_result(record, "memory.bandwidth.read.dram.machine", 80e9);
  add_result(record, "memory.bandwidth.set.dram.machine", 40e9);
  add_result(record, "memory.bandwidth.copy.dram.machine", 116e9);
  EXPECT_EQ(contradiction_ids(record), Ids{"above_the_bus"});
  record.results[2].name = "memory.bandwidth.triad.dram.machine";  // a third of it is written
  EXPECT_EQ(contradiction_ids(record), Ids{});
}

TEST(Contradictions, SeeOneQuantityTwiceAlsoBesideAWideInterval) {
  Record record;
  add_result(record, "memory.bandwidth.copy.dram.machine", 116e9, 40e9);
  Curve copy{"copy", {1, 2}, {58e9, 64e9}, {57e9, 58e9}, {59e9, 90e9}};
  View view{.name = "memory.bandwidth.cores", .title = ""};
  view.content = Curves{{"cores", "", false}, {"bandwidth", "B/s", false}, {copy}};
  record.views.push_back(view);
  EXPECT_EQ(contradiction_ids(record), Ids{"differs"});
}

TEST(Contradictions, SeeMemoryOfWhichHalfIsFaster) {
  Record record;
  add_result(record, "memory.bandwidth.copy.dram.machine", 116e9);
  record.results[0].details[kGainOfHalf] = {1.6, 1.5, 1.7};
  ASSERT_EQ(contradiction_ids(record), Ids{"partly_cache"});
  EXPECT_EQ(contradictions(record)[0].seen,
            "memory.bandwidth.copy.dram.machine 116 GB/s, but 1.60 times as much from half of the "
            "data");
  record.results[0].details[kGainOfHalf] = {1.02, 0.98, 1.08};
  EXPECT_EQ(contradiction_ids(record), Ids{});
}

TEST(Contradictions, SeeOneQuantityTwice) {
  Record record;
  add_result(record, "memory.bandwidth.triad.dram.machine", 122e9, 3e9);
  Curve triad{"triad", {1, 2}, {54e9, 56.8e9}, {53e9, 55e9}, {55e9, 58e9}};
  View view{.name = "memory.bandwidth.cores", .title = ""};
  view.content = Curves{{"cores", "", false}, {"bandwidth", "B/s", false}, {triad}};
  record.views.push_back(view);
  EXPECT_EQ(contradiction_ids(record), Ids{"differs"});
}

TEST(Contradictions, CallAFigureAboveItsRoofARoofThatIsTooLow) {
  Record record;
  add_result(record, "simd.axpy.l2", 145);
  record.results[0].limit = Limit{100, "by hand"};
  EXPECT_EQ(contradiction_ids(record), Ids{"roof_too_low"});
  record.results[0].value = 102;
  EXPECT_EQ(contradiction_ids(record), Ids{});
  // A share whose interval reaches down to the roof may still be none.
  set_samples(record.results[0], {95, 106, 106, 106, 106, 106, 108});
  set_limit(record.results[0], "in turn", std::vector<double>(7, 100.0));
  EXPECT_EQ(contradiction_ids(record), Ids{});
}

}  // namespace
}  // namespace tabane::lab
