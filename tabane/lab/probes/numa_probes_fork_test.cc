#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <variant>

#include "tabane/core/memory.h"
#include "tabane/lab/probes/run_probe_test.h"

namespace tabane::lab {
namespace {

std::size_t nodes_with_pus() {
  std::size_t count = 0;
  for (const core::NumaNode& node : this_machine().numa_nodes()) count += !node.pus.empty();
  return count;
}

void expect_shape(const Matrix& matrix) {
  EXPECT_EQ(matrix.rows.size(), nodes_with_pus());
  EXPECT_EQ(matrix.columns.size(), this_machine().numa_nodes().size());
  ASSERT_EQ(matrix.values.size(), matrix.rows.size());
  for (const auto& row : matrix.values) {
    ASSERT_EQ(row.size(), matrix.columns.size());
    for (const auto& value : row) {
      if (value) {
        EXPECT_GT(*value, 0);
      }
    }
  }
}

TEST(NumaProbes, HaveTheirStableNames) {
  const auto probes = numa_probes(this_machine());
  ASSERT_EQ(probes.size(), 2u);
  EXPECT_EQ(probes[0].name, "numa.bandwidth");
  EXPECT_EQ(probes[1].name, "numa.latency");
}

TEST(NumaBandwidth, HasARowForEachNodeWithPusAndAColumnForEachNode) {
  if (!memory_can_be_placed()) GTEST_SKIP() << "NUMA calls are filtered";
  const ProbeRun run = run_probe(numa_probes, "numa.bandwidth", true, 0.05);
  const auto& first = std::get<Matrix>(run.table("numa.bandwidth.first").content);
  const auto& second = std::get<Matrix>(run.table("numa.bandwidth.second").content);
  expect_shape(first);
  expect_shape(second);
  EXPECT_EQ(first.unit, "B/s");
  EXPECT_EQ(run.record.find_view("numa.bandwidth.all_pus"), nullptr);
  EXPECT_TRUE(is_steady_progress(run.fractions));
}

TEST(NumaBandwidth, IsLessWhenThePagesMustBeAllocated) {
  if (!memory_can_be_placed()) GTEST_SKIP() << "NUMA calls are filtered";
  const ProbeRun run = run_probe(numa_probes, "numa.bandwidth", true, 0.05);
  const Result& result = run.result("numa.bandwidth");
  EXPECT_LT(result.details.at("first_pass").get<double>(), result.value.value());
}

TEST(NumaBandwidth, TriesAllPusOfANodeUnlessQuick) {
  if (!memory_can_be_placed()) GTEST_SKIP() << "NUMA calls are filtered";
  const ProbeRun run = run_probe(numa_probes, "numa.bandwidth", false, 0.05);
  expect_shape(std::get<Matrix>(run.table("numa.bandwidth.all_pus").content));
}

TEST(NumaBandwidth, TellsWhereThePagesWere) {
  if (!memory_can_be_placed()) GTEST_SKIP() << "NUMA calls are filtered";
  const ProbeRun run = run_probe(numa_probes, "numa.bandwidth", true, 0.05);
  const Json& share = run.result("numa.bandwidth").details.at("lowest_share_of_pages_on_node");
  if (share.is_null()) return;  // the system does not tell
  EXPECT_GT(share.get<double>(), 0);
  EXPECT_LE(share.get<double>(), 1);
}

TEST(NumaLatency, IsOneRelativeToItself) {
  if (!memory_can_be_placed()) GTEST_SKIP() << "NUMA calls are filtered";
  const ProbeRun run = run_probe(numa_probes, "numa.latency", true, 0.1);
  const auto& latency = std::get<Matrix>(run.table("numa.latency").content);
  const auto& ratio = std::get<Matrix>(run.table("numa.latency.ratio").content);
  expect_shape(latency);
  expect_shape(ratio);
  EXPECT_EQ(latency.unit, "ns");
  for (std::size_t r = 0; r < ratio.rows.size(); ++r)
    for (std::size_t c = 0; c < ratio.columns.size(); ++c)
      if (ratio.rows[r] == ratio.columns[c] && ratio.values[r][c]) {
        EXPECT_EQ(*ratio.values[r][c], 1);
      }
  EXPECT_GT(run.result("numa.latency").value.value(), 0);
  EXPECT_TRUE(is_steady_progress(run.fractions));
}

TEST(NumaLatency, UnderLoadIsMeasuredWhereANodeHasOtherPusUnlessQuick) {
  if (!memory_can_be_placed()) GTEST_SKIP() << "NUMA calls are filtered";
  const ProbeRun quick = run_probe(numa_probes, "numa.latency", true, 0.1);
  EXPECT_EQ(quick.record.find_view("numa.latency.loaded"), nullptr);
  const ProbeRun run = run_probe(numa_probes, "numa.latency", false, 0.1);
  const bool has_others = std::ranges::any_of(this_machine().numa_nodes(),
                                              [](const auto& node) { return node.pus.size() > 1; });
  if (!has_others) {
    EXPECT_EQ(run.record.find_view("numa.latency.loaded"), nullptr);
  } else if (run.record.find_view("numa.latency.loaded") != nullptr) {  // not on a busy machine
    expect_shape(std::get<Matrix>(run.table("numa.latency.loaded").content));
  }
}

}  // namespace
}  // namespace tabane::lab
