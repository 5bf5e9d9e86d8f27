#include "tabane/lab/probes/common.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tabane/lab/page/plot.h"
#include "tabane/lab/page/report_record_test.h"
#include "tabane/lab/record/has_test.h"

namespace tabane::lab {
namespace {

View described(Content content, ProbeContext::Describe* describe, const Record& record = {}) {
  View view{.name = "view", .title = "", .content = std::move(content)};
  describe(view, record);
  return view;
}

TEST(CoreCounts, AscendFromOneToAll) {
  for (const std::size_t cores : {1u, 2u, 3u, 7u, 64u, 1000u}) {
    for (const std::size_t each : {2u, 4u, 6u}) {
      const std::vector<std::size_t> counts = core_counts(cores, each);
      ASSERT_FALSE(counts.empty());
      EXPECT_EQ(counts.front(), 1u);
      EXPECT_EQ(counts.back(), cores);
      EXPECT_EQ(std::ranges::adjacent_find(counts, std::ranges::greater_equal()), counts.end())
          << cores;
    }
  }
}

TEST(BandwidthOverCores, TellsWhereTheBusIsFull) {
  Curves curves{{"cores", "", false}, {"bandwidth", "B/s", false}, {}};
  curves.series.push_back({"read", {1, 2, 3, 4}, {10e9, 19.5e9, 20e9, 20e9}});
  const View view = described(curves, describe_bandwidth_over_cores);
  EXPECT_TRUE(has(view.note, "1 core gives 10.0 GB/s")) << view.note;
  EXPECT_TRUE(has(view.note, "with 2 cores (19.5 GB/s)"));
  EXPECT_EQ(std::get<Curves>(view.content).marks.front().at, 2);
  // With one number of cores there is nothing to say.
  curves.series.push_back({"set", {1}, {5e9}});
  EXPECT_FALSE(has(described(curves, describe_bandwidth_over_cores).note, "set"));
}

TEST(LoadedLatency, TellsWhatALoadTakesAloneAndUnderLoad) {
  Curves curves{{"other cores at work", "", false}, {"latency", "ns", false}, {}};
  curves.series.push_back({"others read", {0, 1, 3}, {100, 110, 240}});
  curves.series.push_back({"others copy", {0, 1, 3}, {101, 120, 300}});
  const View view = described(curves, describe_loaded_latency);
  EXPECT_TRUE(has(view.note,
                  "takes 100 ns alone, 240 ns while 3 other cores read it and 300 ns "
                  "while 3 other cores copy in it"))
      << view.note;
}

TEST(ForkCost, GivesTheSlopeThatTheResultGives) {
  Curves curves{{"held", "B", true}, {"time", "s", true}, {}};
  const double gi = 1024.0 * 1024 * 1024;
  curves.series.push_back({"4 KiB pages", {gi / 4, gi, 4 * gi}, {2e-3, 5e-3, 17e-3}});
  const View view = described(curves, describe_fork_cost);
  EXPECT_TRUE(has(view.note, "4.00 ms per GiB, fitted to all points")) << view.note;
}

TEST(CoreToCore, GivesTheTimeOfAPairOrItsMedian) {
  const View view = described(Matrix{"ns",
                                     Better::lower,
                                     {"0", "4"},
                                     {"0", "4"},
                                     {{std::nullopt, 30.0}, {32.0, std::nullopt}}},
                              describe_core_to_core);
  EXPECT_TRUE(has(view.note, "31.0 ns")) << view.note;
}

TEST(CoreToCore, NamesTheFarthestPair) {
  const std::string note = testing::full_record().find_view("core_to_core.latency")->note;
  EXPECT_TRUE(has(note, "The farthest, ")) << note;
}

TEST(CoreToCore, IsATableWhereThereIsOneNumber) {
  EXPECT_FALSE(figure_of(
      described(Matrix{"ns", Better::lower, {"0", "1"}, {"0", "1"}, {{{}, 30.0}, {30.0, {}}}},
                describe_core_to_core)));
}

TEST(CoreToCore, StaysSmallOnManyPus) {
  const auto figure = figure_of(*testing::full_record(512).find_view("core_to_core.latency"));
  ASSERT_TRUE(figure);
  EXPECT_LE(std::count(figure->data.begin(), figure->data.end(), '\n'), 128 * 128 + 1);
  EXPECT_TRUE(has(figure->caption, "4 × 4 pairs"));
  EXPECT_LT(figure->data_table_html.size(), 100'000u);
}

TEST(Numa, GivesTheRatioToTheLocalNode) {
  const Record record = testing::full_record();
  const View& latency = *record.find_view("numa.latency");
  EXPECT_TRUE(has(latency.note, "node 1 reaching node 0: 150 ns, 1.58 times the 95.0 ns at home"))
      << latency.note;
  EXPECT_TRUE(has(figure_of(latency)->data, "\"148 (1.54)\""));
  EXPECT_TRUE(has(figure_of(*record.find_view("numa.bandwidth.second"))->data, "\"41.0 (0.55)\""));
}

TEST(Numa, SaysThatNoWayIsDearerThanThatToTheOwnNode) {
  const std::vector<std::string> nodes = {"node 0", "node 1"};
  const View view = described(Matrix{"ns", Better::lower, nodes, nodes, {{245, 245}, {245, 245.1}}},
                              describe_numa);
  EXPECT_TRUE(has(view.note, "No way is dearer")) << view.note;
}

TEST(Numa, SaysNothingOfOneNode) {
  const View view =
      described(Matrix{"ns", Better::lower, {"node 0"}, {"node 0"}, {{95}}}, describe_numa);
  EXPECT_TRUE(view.note.empty());
  EXPECT_FALSE(std::get<Matrix>(view.content).own_first);
}

TEST(Ladder, ShowsSharesOnlyIfEveryKernelHasALimit) {
  Record record = testing::full_record();
  const auto chart = [&] { return described(Bars(), describe_ladder_chart, record); };
  const auto bars = [&] { return std::get<Bars>(chart().content); };
  EXPECT_EQ(bars().unit, "share");
  EXPECT_NEAR(*bars().bars.front().value, 1.1 / 26.3, 1e-9);
  EXPECT_TRUE(has(chart().note, "sum_of_squares gains most"));
  std::get<Rows>(record.find_view("ladder")->content).rows[0][5] = Entry();
  EXPECT_EQ(bars().unit, "FLOP/s");
  EXPECT_EQ(bars().bars.front().value, 1.1e9);
}

TEST(Ladder, ComparesItsEnds) {
  Record record;
  Rows rows{{"kernel", "plain loop", "shipped", "limit"}, {}};
  rows.rows.push_back({"dot", {1e9, "FLOP/s"}, {8e9, "FLOP/s"}, {1e10, "FLOP/s"}});
  record.views.push_back({.name = "ladder", .title = "Rungs", .content = rows});
  const std::string note = described(Bars(), describe_ladder_chart, record).note;
  EXPECT_TRUE(has(note, "8 times as fast as plain loop")) << note;
}

TEST(Latency, SaysWhatEachCacheTakes) {
  Record record;
  record.machine["caches"] = {{{"level", 1}, {"bytes", 32768}}};
  const Curves curves{{"working set", "B", true},
                      {"latency", "ns", true},
                      {{"4 KiB pages", {16384, 1048576}, {1.5, 90}}}};
  const View view = described(curves, describe_latency, record);
  EXPECT_TRUE(has(
      view.note, "with 4 KiB pages it takes 1.50 ns in L1 and 90.0 ns beyond the caches, at 1 MiB"))
      << view.note;
  EXPECT_EQ(std::get<Curves>(view.content).marks.at(0).at, 32768);
}

// A machine of one core has a point, not a curve.
TEST(Curves, OfOnePointAreNotReadAloud) {
  const Curves curves{{"cores"}, {"bandwidth", "B/s"}, {{"read", {1}, {10e9}}, {"set", {}, {}}}};
  EXPECT_TRUE(described(curves, describe_bandwidth_over_cores).note.empty());
}

// Two ways at 10 GB/s each: 0.2 ns a byte, in which 1 TFLOP/s does 200 operations; 20 us are
// 100 kB.
TEST(Devices, AreATableWithATransferInOperations) {
  Record record;
  const auto add = [&](const char* name, const char* unit, double value) {
    Result result;
    result.name = std::string("device.0.") + name;
    result.unit = unit;
    result.details["device"] = "H200 (CUDA)";
    set_samples(result, {value});
    record.results.push_back(std::move(result));
  };
  add("launch", "s", 20e-6);
  add("transfer.to_device.pinned", "B/s", 10e9);
  add("transfer.from_device.pinned", "B/s", 10e9);
  add("peak.fma.single", "FLOP/s", 1e12);
  const View table = described(Rows(), describe_devices, record);
  const auto& rows = std::get<Rows>(table.content);
  EXPECT_EQ(rows.columns, (std::vector<std::string>{"figure", "device 0"}));
  EXPECT_EQ(rows.rows.size(), 12u);
  const std::string& note = table.note;
  EXPECT_TRUE(has(note, "Device 0 is H200 (CUDA).")) << note;
  EXPECT_TRUE(has(note, "as long as 200 operations")) << note;
  EXPECT_TRUE(has(note, "97.7 KiB both ways")) << note;
  const View transfers = described(Bars(), describe_device_transfers, record);
  const auto& bars = std::get<Bars>(transfers.content).bars;
  ASSERT_EQ(bars.size(), 2u);
  EXPECT_EQ(bars[0].group, "pinned");
  EXPECT_EQ(bars[1].label, "from the device");
}

}  // namespace

}  // namespace tabane::lab
