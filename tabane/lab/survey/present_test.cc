#include "tabane/lab/survey/present.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/lab/page/plot.h"
#include "tabane/lab/page/report_record_test.h"
#include "tabane/lab/record/has_test.h"

namespace tabane::lab {
namespace {

std::vector<std::string> figure_ids(const Record& record) {
  std::vector<std::string> out;
  for (const auto& figure : make_figures(record)) out.push_back(figure.id);
  return out;
}

Record with_view(const char* name, auto content) {
  Record record;
  record.views.push_back({.name = name, .title = "", .content = std::move(content)});
  return record;
}

TEST(Present, GivesAllFiguresInTheOrderOfThePage) {
  EXPECT_EQ(
      figure_ids(testing::full_record()),
      (std::vector<std::string>{"share_of_limit", "roofline", "memory_latency", "memory_bandwidth",
                                "memory_bandwidth_cores", "memcpy", "core_to_core_latency",
                                "numa_latency", "numa_bandwidth_first", "numa_bandwidth_second",
                                "ladder_chart", "clock_core_rate", "fork_cost"}));
}

TEST(Present, LeavesOutWhatTheRecordDoesNotHave) {
  EXPECT_TRUE(figure_ids(Record()).empty());
  EXPECT_TRUE(figure_ids(testing::record_without_tables()).empty());
  for (const auto& id : figure_ids(testing::one_cpu_record())) {
    EXPECT_NE(id, "core_to_core_latency");
    EXPECT_NE(id, "numa_latency");
    EXPECT_NE(id, "memory_bandwidth_cores");
  }
}

TEST(Present, KeepsEveryView) {
  const Record record = testing::full_record();
  for (const char* name : {"clock.skew", "ladder", "memory.latency", "numa.latency"})
    EXPECT_NE(record.find_view(name), nullptr) << name;
  EXPECT_TRUE(record.find_view("clock.skew")->note.empty());
}

TEST(Present, ChangesNothingTheSecondTime) {
  Record record = testing::full_record();
  const Json once = to_json(record);
  present(record);
  EXPECT_EQ(to_json(record), once);
}

TEST(Present, ReadsSurveysOfSchemaVersion1) {
  const Json old = Json::parse(R"({"schema_version": 1, "kind": "survey", "tabane_version": "0.1",
    "started": "", "duration_s": 1, "complete": true, "quick": false, "command_line": "",
    "machine": {"caches": [{"level": 1, "bytes": 32768}]}, "environment": {}, "warnings": [],
    "sentences": [], "results": [], "skipped": [], "checklist": [],
    "tables": [
      {"name": "memory.latency", "what": "Latency", "kind": "curves", "version": 1,
       "parameters": {}, "x": {"name": "working set", "unit": "bytes", "log": true},
       "y": {"name": "latency", "unit": "ns", "log": true},
       "series": [{"name": "4 KiB pages", "x": [16384, 1048576], "y": [1.5, 90]}]},
      {"name": "ladder", "what": "Rungs", "kind": "rows", "version": 1, "parameters": {},
       "columns": [{"name": "kernel", "unit": ""}, {"name": "plain loop", "unit": "FLOP/s"},
                   {"name": "shipped", "unit": "FLOP/s"}, {"name": "limit", "unit": "FLOP/s"}],
       "rows": [["dot", 1e9, 8e9, 1e10]]}]})");
  Record record = record_from_json(old);
  present(record);
  EXPECT_TRUE(
      has(record.find_view("memory.latency")->note,
          "with 4 KiB pages it takes 1.50 ns in L1 and 90.0 ns beyond the caches, at 1 MiB"))
      << record.find_view("memory.latency")->note;
  EXPECT_TRUE(has(record.find_view("ladder.chart")->note, "8 times as fast as plain loop"))
      << record.find_view("ladder.chart")->note;
  EXPECT_EQ(figure_ids(record), (std::vector<std::string>{"memory_latency", "ladder_chart"}));
}

TEST(MakeFigures, GivesEachACaptionWithNumbersAndATable) {
  for (const auto& figure : make_figures(testing::full_record())) {
    EXPECT_TRUE(std::any_of(figure.caption.begin(), figure.caption.end(), [](char c) {
      return c >= '0' && c <= '9';
    })) << figure.id;
    EXPECT_TRUE(has(figure.data_table_html, "<table>")) << figure.id;
    EXPECT_FALSE(figure.data.empty());
    EXPECT_TRUE(has(figure.script, figure.id + ".svg"));
    EXPECT_TRUE(has(figure.script, figure.id + ".dat"));
  }
}

TEST(MakeFigures, LetsNoNameBecomeACommand) {
  for (const auto& figure : make_figures(testing::hostile_record())) {
    for (const char* evil : {"system(\"", "`", "'owned'"}) {
      EXPECT_FALSE(has(figure.script, evil)) << figure.id;
      EXPECT_FALSE(has(figure.data, evil)) << figure.id;
    }
    EXPECT_FALSE(has(figure.data_table_html, "<script>")) << figure.id;
  }
}

TEST(MakeFigures, GivesFilesSafeNamesOfTheirOwn) {
  std::vector<std::string> all = figure_ids(testing::hostile_record());
  for (const std::string& id : all)
    EXPECT_TRUE(std::all_of(id.begin(), id.end(), [](unsigned char c) {
      return std::isalnum(c) || c == '_';
    })) << id;
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

TEST(MakeFigures, CountsOnlySeriesThatHaveData) {
  Record record = with_view(
      "a", Curves{{"x", "", false},
                  {"y", "", false},
                  {{.name = "none", .x = {}, .y = {}}, {.name = "one", .x = {1, 2}, .y = {1, 2}}}});
  record.kind = Kind::study;
  const auto figures = make_figures(record);
  ASSERT_EQ(figures.size(), 1u);
  EXPECT_TRUE(has(figures[0].script, "data index 0 using 1:2"));
  EXPECT_FALSE(has(figures[0].script, "index 1"));
}

TEST(Roofline, PutsTheRidgeWhereTheRoofsMeet) {
  Record record;
  for (const auto& [name, unit, value] : {std::tuple{"peak.fma.core", "FLOP/s", 40e9},
                                          {"memory.bandwidth.read.dram.core", "B/s", 20e9}}) {
    Result r;
    r.name = name;
    r.unit = unit;
    r.value = value;
    record.results.push_back(r);
  }
  const auto view = present_roofline(record);
  ASSERT_TRUE(view);
  EXPECT_TRUE(has(view->note, "Below 2 FLOP per byte DRAM decides")) << view->note;
  const auto& curves = std::get<Curves>(view->content);
  EXPECT_EQ(curves.marks.front().at, 2);
  EXPECT_EQ(curves.series.front().x.back(), 2);
  EXPECT_EQ(curves.series.front().y.back(), 40e9);
  record.results.pop_back();
  EXPECT_FALSE(present_roofline(record));
}

TEST(Roofline, GivesLevelsColoursAndKernelsShapes) {
  const auto view = present_roofline(testing::full_record());
  const auto& series = std::get<Curves>(view->content).series;
  const auto named = [&](const char* name) {
    return *std::find_if(series.begin(), series.end(),
                         [&](const Curve& curve) { return curve.name == name; });
  };
  EXPECT_EQ(named("sum in L1").colour, named("dot in L1").colour);
  EXPECT_NE(named("sum in L1").colour, named("sum in L2").colour);
  EXPECT_EQ(named("sum in L1").shape, named("sum in L2").shape);
  EXPECT_NE(named("sum in L1").shape, named("dot in L1").shape);
}

Record with_shares(std::initializer_list<std::pair<const char*, double>> shares) {
  Record record;
  for (const auto& [name, value] : shares) {
    Result& r = record.results.emplace_back();
    r.name = name;
    r.unit = "B/s";
    r.better = Better::higher;
    r.value = value;
    r.limit = Limit{100, "by hand"};
  }
  return record;
}

TEST(Shares, NameTheBestAndTheWorst) {
  const auto view = present_shares(with_shares({{"a.x", 90}, {"b.y", 25}}));
  ASSERT_TRUE(view);
  EXPECT_TRUE(has(view->note, "a.x comes closest with 90 %")) << view->note;
  EXPECT_TRUE(has(view->note, "b.y is farthest with 25 %"));
}

TEST(Shares, AreNotCloseToALimitThatTheyExceed) {
  const auto view = present_shares(with_shares({{"a.x", 192}, {"b.y", 25}, {"b.z", 80}}));
  EXPECT_TRUE(has(view->note, "b.z comes closest with 80 %")) << view->note;
  EXPECT_TRUE(has(view->note, "One bar is more than 3 % above the limit"));
}

TEST(BandwidthOverCores, TellsWhereTheBusIsFull) {
  Curves curves{{"cores", "", false}, {"bandwidth", "B/s", false}, {}};
  curves.series.push_back({"read", {1, 2, 3, 4}, {10e9, 19.5e9, 20e9, 20e9}});
  const auto view = present_bandwidth_over_cores(with_view("memory.bandwidth.cores", curves));
  ASSERT_TRUE(view);
  EXPECT_TRUE(has(view->note, "1 core gives 10.0 GB/s")) << view->note;
  EXPECT_TRUE(has(view->note, "with 2 cores (19.5 GB/s)"));
  EXPECT_EQ(std::get<Curves>(view->content).marks.front().at, 2);
}

TEST(LoadedLatency, TellsWhatALoadTakesAloneAndUnderLoad) {
  Curves curves{{"other cores at work", "", false}, {"latency", "ns", false}, {}};
  curves.series.push_back({"others read", {0, 1, 3}, {100, 110, 240}});
  curves.series.push_back({"others copy", {0, 1, 3}, {101, 120, 300}});
  const auto view = present_loaded_latency(with_view("memory.latency.loaded", curves));
  ASSERT_TRUE(view);
  EXPECT_TRUE(has(view->note,
                  "takes 100 ns alone, 240 ns while 3 other cores read it and 300 ns "
                  "while 3 other cores copy in it"))
      << view->note;
}

TEST(ForkCost, GivesTheSlopeThatTheResultGives) {
  Curves curves{{"held", "B", true}, {"time", "s", true}, {}};
  const double gi = 1024.0 * 1024 * 1024;
  curves.series.push_back({"4 KiB pages", {gi / 4, gi, 4 * gi}, {2e-3, 5e-3, 17e-3}});
  const auto view = present_fork_cost(with_view("fork.cost", curves));
  ASSERT_TRUE(view);
  EXPECT_TRUE(has(view->note, "4.00 ms per GiB, fitted to all points")) << view->note;
}

TEST(CoreToCore, LeavesTheDiagonalEmptyAndFindsTheFarthestPair) {
  const Record record = with_view(
      "core_to_core.latency",
      Matrix{"ns", Better::lower, {"0", "4"}, {"0", "4"}, {{7.0, 30.0}, {32.0, std::nullopt}}});
  const auto view = present_core_to_core(record);
  ASSERT_TRUE(view);
  EXPECT_FALSE(std::get<Matrix>(view->content).values[0][0]);
  EXPECT_TRUE(has(view->note, "31.0 ns")) << view->note;
}

TEST(CoreToCore, IsATableWhereThereIsOneNumber) {
  const Record record =
      with_view("core_to_core.latency",
                Matrix{"ns", Better::lower, {"0", "1"}, {"0", "1"}, {{{}, 30.0}, {30.0, {}}}});
  EXPECT_FALSE(figure_of(*present_core_to_core(record)));
}

TEST(CoreToCore, StaysSmallOnManyPus) {
  const auto figure = figure_of(*testing::full_record(512).find_view("core_to_core.latency"));
  ASSERT_TRUE(figure);
  EXPECT_LE(std::count(figure->data.begin(), figure->data.end(), '\n'), 128 * 128 + 1);
  EXPECT_TRUE(has(figure->caption, "4 × 4 pairs"));
  EXPECT_LT(figure->data_table_html.size(), 100'000u);
}

TEST(Numa, GivesTheRatioToTheLocalNode) {
  const auto views = present_numa(testing::full_record());
  ASSERT_EQ(views.size(), 3u);
  EXPECT_TRUE(has(views[0].note, "node 1 reaching node 0: 150 ns, 1.58 times the 95.0 ns at home"))
      << views[0].note;
  EXPECT_TRUE(has(figure_of(views[0])->data, "\"148 (1.54)\""));
  EXPECT_TRUE(has(figure_of(views[2])->data, "\"41.0 (0.55)\""));
}

TEST(Numa, SaysThatNoWayIsDearerThanThatToTheOwnNode) {
  const std::vector<std::string> nodes = {"node 0", "node 1"};
  const auto views = present_numa(with_view(
      "numa.latency", Matrix{"ns", Better::lower, nodes, nodes, {{245, 245}, {245, 245.1}}}));
  ASSERT_EQ(views.size(), 1u);
  EXPECT_TRUE(has(views[0].note, "No way is dearer")) << views[0].note;
}

TEST(Ladder, ShowsSharesOnlyIfEveryKernelHasALimit) {
  auto record = testing::full_record();
  const auto bars = [&] { return std::get<Bars>(present_ladder(record)->content); };
  EXPECT_EQ(bars().unit, "share");
  EXPECT_NEAR(*bars().bars.front().value, 1.1 / 26.3, 1e-9);
  EXPECT_TRUE(has(present_ladder(record)->note, "sum_of_squares gains most"));
  std::get<Rows>(record.find_view("ladder")->content).rows[0][5] = Entry();
  EXPECT_EQ(bars().unit, "FLOP/s");
  EXPECT_EQ(bars().bars.front().value, 1.1e9);
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
  present(record);
  const auto* rows = find_content<Rows>(record, "device");
  ASSERT_NE(rows, nullptr);
  EXPECT_EQ(rows->columns, (std::vector<std::string>{"figure", "device 0"}));
  EXPECT_EQ(rows->rows.size(), 12u);
  const std::string& note = record.find_view("device")->note;
  EXPECT_TRUE(has(note, "Device 0 is H200 (CUDA).")) << note;
  EXPECT_TRUE(has(note, "as long as 200 operations")) << note;
  EXPECT_TRUE(has(note, "97.7 KiB both ways")) << note;
  const auto* bars = find_content<Bars>(record, "device.transfers");
  ASSERT_NE(bars, nullptr);
  EXPECT_EQ(bars->bars.size(), 2u);
  EXPECT_EQ(bars->bars[0].group, "pinned");
  EXPECT_EQ(bars->bars[1].label, "from the device");
}

TEST(Devices, HaveOneNameForATransferInAllFigures) {
  Record record;
  Result launch;
  launch.name = "device.0.launch";
  launch.unit = "s";
  set_samples(launch, {20e-6});
  record.results.push_back(std::move(launch));
  Curves sizes;
  sizes.series = {{"device.0.transfer.to_device.pinned", {1, 2}, {1, 2}}, {"another", {1}, {1}}};
  record.views.push_back({.name = "device.transfer_sizes", .title = "", .content = sizes});
  const std::vector<View> views = present_devices(record);
  const auto view = std::ranges::find(views, "device.transfer_sizes", &View::name);
  ASSERT_NE(view, views.end());
  const auto& series = std::get<Curves>(view->content).series;
  EXPECT_EQ(series[0].name, "to the device, pinned");
  EXPECT_EQ(series[1].name, "another");
}

TEST(Devices, AreNotShownWhereThereAreNone) {
  EXPECT_TRUE(present_devices(testing::full_record()).empty());
}

}  // namespace
}  // namespace tabane::lab
