// Tables and charts of the study ap1000 from samples that are known.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tabane/lab/page/plot.h"
#include "tabane/lab/probes/ping_pong.h"
#include "tabane/lab/study/views_test.h"
#include "tabane/studies/ap1000/ap1000.h"

namespace tabane::lab::ap1000 {
namespace {

// Copying: 1 µs and 1 GB/s; in place: 0.5 µs and 4 GB/s. A barrier by flags 1 µs, by messages
// 2 log2 p + 1 µs. Element by element 1 µs each, a vector 3 µs.
Points known() {
  Points points;
  const auto add = [&](Factors factors, double seconds) {
    points.add({.factors = std::move(factors), .samples = std::vector<double>(6, seconds)});
  };
  for (const std::uint64_t bytes : ping_pong_sizes(1 << 22)) {
    const auto n = static_cast<double>(bytes);
    add({{"part", "pingpong"}, {"way", "recv"}, {"bytes", bytes}}, 1e-6 + n * 1e-9);
    add({{"part", "pingpong"}, {"way", "view"}, {"bytes", bytes}}, 0.5e-6 + n / 4e9);
  }
  for (const int ranks : {2, 4, 8}) {
    add({{"part", "barrier"}, {"way", "flags"}, {"ranks", ranks}}, 1e-6);
    add({{"part", "barrier"}, {"way", "messages"}, {"ranks", ranks}},
        (2 * std::log2(ranks) + 1) * 1e-6);
    add({{"part", "sum"}, {"way", "chosen"}, {"group", "all"}, {"ranks", ranks}}, 2e-6);
  }
  for (int n = 1; n <= 64; n *= 2) {
    add({{"part", "vector"}, {"way", "elements"}, {"ranks", 2}, {"bytes", 8 * n}}, n * 1e-6);
    add({{"part", "vector"}, {"way", "vector"}, {"ranks", 2}, {"bytes", 8 * n}}, 3e-6);
  }
  for (const int bytes : {8, 4096, 65536}) {
    add({{"part", "broadcast"}, {"way", "flags"}, {"ranks", 8}, {"bytes", bytes}},
        2e-6 + bytes * 0.5e-9);
    add({{"part", "row_broadcast"}, {"way", "binomial"}, {"ranks", 64}, {"bytes", bytes}}, 1e-6);
    add({{"part", "column_broadcast"}, {"way", "flags"}, {"ranks", 8}, {"bytes", bytes}}, 1e-6);
    add({{"part", "distance"}, {"within", "cache"}, {"bytes", bytes}}, 1e-6 + bytes * 1e-9);
    add({{"part", "distance"}, {"within", "machine"}, {"bytes", bytes}}, 2e-6 + bytes * 1e-9);
    for (const char* way : {"fine", "polling"})
      add({{"part", "gather"}, {"way", way}, {"ranks", 8}, {"bytes", 8 * bytes}}, 1e-6);
  }
  return points;
}

Record shown(const Points& points) {
  Record record;
  record.name = "ap1000";
  add_results(record, points, [](const Point&) { return ""; });
  add_views(record, points, {"shm", 2, {{"cache", {0, 1}}, {"machine", {0, 9}}}});
  return record;
}

TEST(Ap1000Plan, TakesPowersOfTwoAndTheMostAsNumbersOfRanks) {
  EXPECT_EQ(plan_ranks(8), (std::vector<int>{2, 4, 8}));
  EXPECT_EQ(plan_ranks(12), (std::vector<int>{2, 4, 8, 12}));
  EXPECT_TRUE(plan_ranks(1).empty());
  const core::Topology four = core::Topology::synthetic("core:4 pu:1");
  EXPECT_EQ(plan_ranks_from_one(0, four), (std::vector<int>{1, 2, 4}));
  EXPECT_EQ(plan_ranks_from_one(1, four), std::vector<int>{1});
}

TEST(Ap1000Tables, GiveThePingPongWithRatiosAndBandwidth) {
  const auto rows = texts_of(shown(known()), "Half a round trip");
  EXPECT_EQ(rows[0][0], "1 B");
  EXPECT_EQ(rows[1][0], "8 B");
  const auto& row = rows.at(4);
  EXPECT_EQ(row[0], "4 KiB");
  EXPECT_EQ(row[1], "5.10 µs [5.10, 5.10]");
  EXPECT_EQ(row[3].substr(0, 4), "3.34");  // 5.096 / 1.524
  EXPECT_EQ(row[4], "804 MB/s");
}

TEST(Ap1000Tables, PutTheFitsBesideTheReports) {
  const auto rows = texts_of(shown(known()), "lines through");
  ASSERT_EQ(rows.size(), 6u);  // one piece each, four of the report
  EXPECT_EQ(rows[0][1], "1 B … 4 MiB");
  EXPECT_EQ(rows[0][2].substr(0, 8), "1.00 µs");
  EXPECT_EQ(rows[0][3].substr(0, 9), "1.00 GB/s");
  EXPECT_EQ(rows[0][4].substr(0, 6), "1000 B");
  EXPECT_EQ(rows[1][2].substr(0, 6), "500 ns");
  EXPECT_EQ(rows[2][0], "AP1000: copy, distance 1");
  EXPECT_EQ(rows[2][2], "19.0 µs");
  EXPECT_EQ(rows[2][3], "5.56 MB/s");
}

TEST(Ap1000Tables, FitTheBarrierByMessagesOverTheLogarithm) {
  const Record record = shown(known());
  keep_page(record);
  const auto rows = texts_of(record, "Barrier");
  const std::string& note = view_of(record, "Barrier").note;
  EXPECT_NE(note.find("2 log2 p + 1 µs"), std::string::npos) << note;
  EXPECT_EQ(rows[2][0], "8");
  EXPECT_EQ(rows[2][3], "7.00 [7.00, 7.00]");
  EXPECT_EQ(rows[2][4], "106 µs");  // 33 · 3 + 6.8
}

TEST(Ap1000Tables, SayFromWhereAVectorStaysFaster) {
  const Record record = shown(known());
  const auto rows = texts_of(record, "Sum of a vector");
  const std::string& note = view_of(record, "Sum of a vector").note;
  EXPECT_NE(note.find("up: 4 with 2 ranks"), std::string::npos) << note;
  EXPECT_EQ(rows[0][4], "–");  // no tree was measured
}

TEST(Ap1000Tables, GiveTheFormulaOfABroadcastBesideTheReports) {
  const auto rows = texts_of(shown(known()), "Broadcast");
  ASSERT_EQ(rows.size(), 3u);
  const auto row_along = [&](const std::string& along) {
    const auto found = std::ranges::find(rows, along, [](const auto& row) { return row[1]; });
    return found == rows.end() ? std::vector<std::string>(8) : *found;
  };
  EXPECT_EQ(row_along("all (8)")[6], "0.0005 x + 2");
  EXPECT_EQ(row_along("all (8)")[7], "0.11 x + 2.8");
  EXPECT_EQ(row_along("column (2)")[7], "–");        // the report has no column of 2
  EXPECT_EQ(row_along("row (8)")[7], "0.2 x + 27");  // of 64 ranks, by messages
}

TEST(Ap1000Tables, GiveBothLinesOfPollingOfTheReport) {
  const Record record = shown(known());
  const auto rows = texts_of(record, "Gather to");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].back(), "0.027 x + 3800");
  EXPECT_EQ(rows[1].back(), "0.047 x + 130000; 512 cells: 0.16 x + 1900000");
  const auto* chart = find_content<Curves>(record, "ap1000.gather");
  ASSERT_NE(chart, nullptr);
  EXPECT_EQ(chart->series.back().name, "AP1000 (1992), polling 512 cells");
  EXPECT_GT(chart->series.back().y.at(0), 1.9);
}

TEST(Ap1000Tables, PutNearAndFarBesideTheReports) {
  const auto rows = texts_of(shown(known()), "Near and far");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0][1], "0 and 1");
  EXPECT_EQ(rows[0][6], "0.18 x + 19");
  EXPECT_EQ(rows[1][0], "machine");
  EXPECT_EQ(rows[1][5], "0.001 x + 2");
  EXPECT_EQ(rows[1][6], "0.18 x + 24");
}

// A pair sends a message of 8 bytes every µs; two pairs, on four ranks or five, one every 0.4 µs.
TEST(Ap1000Tables, GiveTheRateOfAllPairs) {
  Points points;
  points.declare({{"way", ""}, {"group", ""}, {"within", ""}});
  for (const auto& [ranks, bytes, seconds] : {std::tuple{2, 8, 1e-6},
                                              {4, 8, 0.4e-6},
                                              {5, 8, 0.4e-6},
                                              {2, 65536, 65.536e-6},
                                              {4, 65536, 32.768e-6}})
    points.add({.factors = {{"part", "message_rate"}, {"ranks", ranks}, {"bytes", bytes}},
                .samples = std::vector<double>(2, seconds)});
  const auto rows = texts_of(shown(points), "Many messages");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1], (Names{"2", "2.50 M/s", "2.50", "2.00 GB/s", "2.00"}));
  EXPECT_EQ(rows[2][0], "2");
}

TEST(Ap1000Plan, HasAPairOfPusForEachDistance) {
  const auto pairs_of = [](const char* machine) {
    std::string text;
    for (const Distance& one : distances(core::Topology::synthetic(machine).pus()))
      text += fmt::format("{} {}-{} ", one.within, one.pus[0], one.pus[1]);
    return text;
  };
  EXPECT_EQ(pairs_of("pack:2 [numa] l3:2 core:2 pu:2"), "core 0-1 cache 0-2 node 0-4 machine 0-8 ");
  EXPECT_EQ(pairs_of("pack:1 numa:2 l3:1 core:2 pu:1"), "cache 0-1 package 0-2 ");
  EXPECT_EQ(pairs_of("core:1 pu:1"), "");
}

// The report's values of a chart's curve of that name.
std::map<double, double> reported_in(const Record& record, const char* chart, const char* name) {
  std::map<double, double> values;
  for (const Curve& curve : find_content<Curves>(record, chart)->series)
    for (std::size_t i = 0; curve.name.ends_with(name) && i < curve.x.size(); ++i)
      if (curve.role == Role::published) values[curve.x[i]] = curve.y[i];
  return values;
}

TEST(Ap1000Charts, HaveTheReportsLines) {
  const Record record = shown(known());
  const auto network = reported_in(record, "ap1000.broadcast.direct", ", 8 cells");
  ASSERT_EQ(network.size(), 3u);
  EXPECT_NEAR(network.at(4096), (0.11 * 4096 + 2.8) * 1e-6, 1e-12);
  const auto tree = reported_in(record, "ap1000.barrier", "messages");
  ASSERT_EQ(tree.size(), 2u);  // the report begins with 4 cells
  EXPECT_NEAR(tree.at(8), (33 * 3 + 6.8) * 1e-6, 1e-12);
  EXPECT_NEAR(reported_in(record, "ap1000.gather", "fine").at(64), (0.027 * 64 + 3800) * 1e-6,
              1e-12);
  EXPECT_NEAR(reported_in(record, "ap1000.distance", "distance 24").at(8), 25.44e-6, 1e-12);
  EXPECT_NEAR(reported_in(record, "ap1000.pingpong.time", "conventional interface").at(64),
              (0.04 * 64 + 31) * 1e-6, 1e-12);
}

TEST(Ap1000Views, ShowNothingIfNothingWasMeasured) {
  Points points = known();
  for (std::size_t i = 0; i < points.size(); ++i) points[i].samples.clear();
  const Record record = shown(points);
  EXPECT_TRUE(record.views.empty());
  EXPECT_TRUE(record.results.empty());
}

TEST(Ap1000Views, GiveNoT0WhereTheRateStillFalls) {
  Points points;
  for (int n = 1; n <= 1 << 20; n *= 2)  // the line through these begins below 0
    points.add({.factors = {{"part", "pingpong"}, {"way", "recv"}, {"bytes", n}},
                .samples = std::vector<double>(6, 1e-12 * n * std::sqrt(n))});
  points.declare({{"ranks", 2}, {"group", ""}, {"within", ""}});
  std::size_t none = 0;
  for (const Result& result : shown(points).results) {
    if (!result.name.starts_with("ap1000.fit.")) continue;
    if (result.value) {
      EXPECT_GT(*result.value, 0) << result.name;
      continue;
    }
    ++none;
    EXPECT_FALSE(result.interval) << result.name;
    EXPECT_NE(result.details.at(detail::kRemark), "") << result.name;
  }
  EXPECT_GT(none, 0u);
}

TEST(Ap1000Tables, WriteFormulasWithoutExponents) {
  Points points;
  for (const int ranks : {2, 4, 8})  // 44.8 log2 p - 44.8 ms
    points.add({.factors = {{"part", "barrier"}, {"way", "messages"}, {"ranks", ranks}},
                .samples = std::vector<double>(6, 44.8e-3 * (std::log2(ranks) - 1) + 1e-9)});
  points.declare({{"bytes", 1}, {"group", ""}, {"within", ""}});
  const std::string note = view_of(shown(points), "Barrier").note;
  EXPECT_NE(note.find("44.8 log2 p − 44.8 ms."), std::string::npos) << note;
}

TEST(Ap1000Tables, ClaimNoIntervalFromTwoSamples) {
  Points points = known();
  for (std::size_t i = 0; i < points.size(); ++i) points[i].samples.resize(2);
  const auto row = texts_of(shown(points), "Half a round trip").at(4);
  EXPECT_EQ(row[1], "5.10 µs");
  EXPECT_EQ(row[3], "3.34");
}

TEST(Ap1000Results, KeepEverySampleAndTheFits) {
  const Record record = shown(known());
  const Result* barrier = record.find("ap1000.barrier.messages.ranks4");
  ASSERT_NE(barrier, nullptr);
  ASSERT_EQ(barrier->samples.size(), 6u);
  EXPECT_NEAR(barrier->samples[5], 5e-6, 1e-12);
  ASSERT_NE(record.find("ap1000.fit.recv.t0"), nullptr);
  EXPECT_NEAR(*record.find("ap1000.fit.recv.t0")->value, 1e-6, 1e-9);
  EXPECT_EQ(*record.find("ap1000.sum.chosen.all.ranks8")->factors.find("group"), Level("all"));
}

TEST(Ap1000Charts, DrawFittedLinesInInkAndMarkThePus) {
  const auto figures = make_figures(shown(known()));
  ASSERT_EQ(figures.size(), 8u);  // a broadcast on 8 ranks only is no curve
  EXPECT_EQ(figures[0].id, "ap1000_pingpong_time");
  EXPECT_EQ(figures[1].id, "ap1000_pingpong_bandwidth");
  const auto colour_of = [&](const std::string& index) {
    const std::size_t at = figures[0].script.find("data index " + index);
    return figures[0].script.substr(figures[0].script.find("rgb '", at), 13);
  };
  EXPECT_EQ(colour_of("1"), "rgb '#000000'");
  EXPECT_EQ(colour_of("3"), "rgb '#000000'");
  EXPECT_NE(colour_of("0"), colour_of("1"));
  EXPECT_NE(colour_of("0"), colour_of("2"));
  EXPECT_NE(figures.back().script.find("'2 PUs'"), std::string::npos) << figures.back().script;
}

}  // namespace
}  // namespace tabane::lab::ap1000
