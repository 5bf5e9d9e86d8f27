// Tables and charts of the study pc-cluster from samples that are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tabane/lab/compare/compare.h"
#include "tabane/lab/probes/ping_pong.h"
#include "tabane/lab/record/published.h"
#include "tabane/lab/record/text.h"
#include "tabane/lab/study/views_test.h"
#include "tabane/studies/pc_cluster/pc_cluster.h"

namespace tabane::lab::pc_cluster {
namespace {

// DGEMM 2 GFLOP/s, the loop 0.5. A multiplication 1 ns a bit on one core and half of that on two.
// Messages: 1 µs and 1 GB/s by tcp, four times that by mpi; between hosts 50 µs and 100 MB/s.
Points known(std::vector<double> watched) {
  Points points;
  const auto add = [&](Factors factors, double seconds) {
    points.add({.factors = std::move(factors), .samples = std::vector<double>(6, seconds)});
  };
  for (const double n : {100, 1000}) {
    add({{"part", "product"}, {"way", "dgemm"}, {"n", n}}, 2 * n * n * n / 2e9);
    add({{"part", "product"}, {"way", "triple loop"}, {"n", n}}, 2 * n * n * n / 0.5e9);
  }
  for (const double bits : {64, 4096}) {
    for (const int cores : {1, 2})
      add({{"part", "mpfr"}, {"operation", "multiply"}, {"cores", cores}, {"bits", bits}},
          bits * 1e-9 / cores);
  }
  for (const double bits : {128, 1024}) {
    for (const int ranks : {1, 2}) {
      for (const char* part : {"parallel", "parallel between"}) {
        const Factors of{{"part", part}, {"bits", bits}, {"n", 100}, {"ranks", ranks}};
        add(of.with({{"way", "exact"}}), bits * 1e-3 / ranks);
        add(of.with({{"way", "loop"}}), 3 * bits * 1e-3 * (*(part + 8) == '\0' ? 1 : ranks));
      }
    }
  }
  for (const std::uint64_t bytes : ping_pong_sizes(1 << 22)) {
    const auto n = static_cast<double>(bytes);
    add({{"part", "inside"}, {"way", "tcp"}, {"bytes", bytes}}, 1e-6 + n / 1e9);
    add({{"part", "inside"}, {"way", "mpi"}, {"bytes", bytes}}, 1e-6 + n / 4e9);
    add({{"part", "between"}, {"way", "tcp"}, {"bytes", bytes}}, 50e-6 + n / 100e6);
  }
  points.add({.factors = {{"part", "cpu between"}, {"way", "tcp"}},
              .samples = {5e-9},
              .beside = {{kHalfRoundTrip, {10e-9 * static_cast<double>(kWatchedBytes)}}}});
  points.add({.factors = {{"part", "watch"}, {"way", "tcp"}, {"bytes", kWatchedBytes}},
              .samples = std::move(watched)});
  return points;
}

Record shown(std::vector<double> watched) {
  Record record;
  record.name = "pc-cluster";
  record.machine = {{"name", "here"}, {"cpu_model", "invented"}};
  Result copying;
  copying.name = "memcpy";
  copying.unit = "B/s";
  copying.better = Better::higher;
  copying.version = 3;
  set_samples(copying, std::vector<double>(6, 25.75e9));
  record.results.push_back(copying);
  const Points points = known(std::move(watched));
  add_results(record, points, [](const Point&) { return "a point"; });
  add_views(record, points);
  return record;
}

Record shown() { return shown(std::vector<double>(100, 0.01)); }

TEST(PcClusterViews, CountsOperationsInBothWays) {
  const auto rows = texts_of(shown(), "Square matrix product");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1][0], "1000");
  EXPECT_EQ(rows[1][2], "2.00 GFLOP/s");
  EXPECT_EQ(rows[1][3], "1.00 GFLOP/s");
  EXPECT_EQ(rows[1][4], "500 MFLOP/s");
  EXPECT_TRUE(rows[1][6].starts_with("4.00"));
}

TEST(PcClusterViews, ShowsOperationsOfAllCores) {
  const auto rows = texts_of(shown(), "Multiple precision");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0][1], "32.0 ns");
  EXPECT_EQ(rows[0][2], "–");  // was not measured
  EXPECT_TRUE(rows[0][5].starts_with("2.00"));
}

TEST(PcClusterViews, ShowsTheSpeedUpOfRanks) {
  const auto rows = texts_of(shown(), "matrices, inside the node");
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1][1], "2");
  EXPECT_TRUE(rows[1][2].starts_with("64.0 ms"));
  EXPECT_TRUE(rows[1][3].starts_with("2.00"));
  EXPECT_TRUE(rows[1][5].starts_with("1.00"));
  EXPECT_TRUE(rows[1][6].starts_with("6.00"));  // the loop does not gain from the second rank
  EXPECT_TRUE(texts_of(shown(), "matrices, between two hosts")[1][5].starts_with("0.50"));
  const Record record = shown();
  const auto* speedups = find_content<Curves>(record, "pc_cluster.parallel.between.speedup");
  ASSERT_NE(speedups, nullptr);
  ASSERT_EQ(speedups->series.size(), 2u);
  EXPECT_NEAR(speedups->series[1].y.at(0), 0.5, 1e-12);
}

TEST(PcClusterViews, ShowsTheCpuTimeOfAByte) {
  const auto rows = texts_of(shown(), "CPU time for a byte");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0][2], "5.00 ns");
  EXPECT_EQ(rows[0][3], "0.50");  // 5 ns of 10 ns
}

TEST(PcClusterViews, FitsMessagesAndFindsTheirBandwidth) {
  const Record record = shown();
  keep_page(record);
  // memcpy is measured by another part.
  EXPECT_EQ(missing_views("pc-cluster", record, {{"with --hosts", true}, {"with MPI", true}}),
            Names{"memcpy"});
  EXPECT_EQ(texts_of(record, "Messages inside the node: half").size(), 7u);
  const auto value = [&](const char* name) {
    const Result* result = record.find(name);
    return result == nullptr ? 0 : result->value.value_or(0);
  };
  EXPECT_NEAR(value("pc_cluster.inside.mpi.r_inf"), 4e9, 1e6);
  EXPECT_NEAR(value("pc_cluster.between.tcp.t0"), 50e-6, 1e-8);
  EXPECT_NEAR(value("pc_cluster.between.tcp.bandwidth"), 100e6, 1e6);
  const auto* rates = find_content<Curves>(record, "pc_cluster.between.bandwidth");
  ASSERT_NE(rates, nullptr);
  EXPECT_NEAR(rates->series[0].y.back(), 100e6, 1e6);
}

TEST(PcClusterViews, TellsAStableLinkFromAnUnstableOne) {
  EXPECT_EQ(texts_of(shown(), "whether the rate stays")[0].back(), "stable");
  std::vector<double> watched(100, 0.01);
  for (std::size_t i = 0; i < watched.size(); i += 10) watched[i] = 0.03;
  const Record record = shown(watched);
  const auto row = texts_of(record, "whether the rate stays")[0];
  EXPECT_EQ(row.back(), "unstable");
  EXPECT_EQ(row[5], "10 %");
  const auto* strip = find_content<Curves>(record, "pc_cluster.watch");
  ASSERT_NE(strip, nullptr);
  EXPECT_EQ(strip->series[0].x.size(), 100u);
  EXPECT_TRUE(strip->series[0].flagged[10]);
  EXPECT_FALSE(strip->series[0].flagged[11]);
}

TEST(PcClusterViews, StandsBesideTheReportsFour) {
  const auto rows = texts_of(shown(), "This machine and");
  ASSERT_EQ(rows.size(), 8u);
  EXPECT_EQ(rows[0][2], "13.5 GB/s");  // 103 Gbit/s of 1000 times 2^20 bits
  EXPECT_EQ(rows[0][6], "2.52");       // 25.75 / 10.22
  EXPECT_EQ(rows[2][3], "118 MB/s");   // 900 Mbit/s
  EXPECT_EQ(rows[4][2], "2.50");
  const Record record = shown();
  const auto* ratios = find_content<Bars>(record, "pc_cluster.ratios");
  ASSERT_NE(ratios, nullptr);
  ASSERT_EQ(ratios->bars[1].label, "Athlon 64 X2");
  EXPECT_NEAR(*ratios->bars[1].value, 103.0 / 78, 1e-6);
  EXPECT_TRUE(std::ranges::none_of(ratios->bars, [](const Bar& bar) {
    return bar.group == "MPI inside a node";  // the report has none of the Pentium 4
  }));
  EXPECT_EQ(texts_of(shown(), "The report's machines").size(), 4u);
}

TEST(PcClusterViews, AreComparedWithTheReportAndWithAnotherMachine) {
  Record other = shown();
  other.machine["name"] = "there";
  const Comparisons all =
      compare({{"here", shown()}, {"there", other}, {"report", published("pc-cluster")}}, {});
  const auto* rates = find_content<Curves>(all.record, "pc_cluster.inside.bandwidth");
  ASSERT_NE(rates, nullptr);
  EXPECT_EQ(rates->series.size(), 4u);  // a curve for each machine and way
  ASSERT_EQ(rates->marks.size(), 3u);
  EXPECT_EQ(rates->marks[2].label, "report: MPI, Pentium D");
  EXPECT_NEAR(rates->marks[2].at, 14e3 * (1 << 20) / 8, 1);
  EXPECT_NE(find_content<Curves>(all.record, "pc_cluster.inside.bandwidth.ratio"), nullptr);
  const auto& figures = all.others.at(1).figures;
  EXPECT_TRUE(std::ranges::any_of(figures, [](const FigureRatio& one) {
    return one.name == "memcpy" && std::abs(one.ratio - 13.500416 / 25.75) < 1e-6;
  }));
}

TEST(PcClusterViews, HaveTheReportsMachinesComparedWithItsPentium4) {
  const Comparisons all = compare({{"P4", published("pc-cluster-pentium-4")},
                                   {"Athlon", published("pc-cluster-athlon-64-x2")},
                                   {"Pentium D", published("pc-cluster-pentium-d")},
                                   {"Xeon", published("pc-cluster-xeon")}},
                                  {});
  const auto ratio = [&](std::size_t i, std::string_view name) {
    const auto& figures = all.others.at(i).figures;
    const auto found = std::ranges::find(figures, name, &FigureRatio::name);
    return found == figures.end() ? 0.0 : double(found->ratio);
  };
  EXPECT_NEAR(ratio(0, "memcpy"), 103.0 / 78, 1e-6);
  EXPECT_NEAR(ratio(2, "memcpy"), 87.0 / 78, 1e-6);
  EXPECT_NEAR(ratio(0, "pc_cluster.multiply_of_pentium_4.greatest"), 4.5, 1e-9);
  EXPECT_NEAR(ratio(1, "pc_cluster.divide_of_pentium_4.least"), 1.3, 1e-9);
}

TEST(PcClusterViews, CanBeReadAgain) {
  const Json json = to_json(shown());
  EXPECT_EQ(to_json(record_from_json(Json::parse(json.dump()))), json);
}

}  // namespace
}  // namespace tabane::lab::pc_cluster
