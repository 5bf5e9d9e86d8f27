#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tabane/lab/page/plot.h"
#include "tabane/lab/study/views_test.h"
#include "tabane/studies/aes_folder/aes_folder.h"

namespace tabane::lab::aes_folder {
namespace {

constexpr Folder kFolder{100, 1024 * 1024};
constexpr unsigned kPus = 2;
// Places in plain_points().
enum : std::size_t { kReportOne, kReportTwo, kDynamicTwo, kCbcTwo, kCbcChosen, kGcmChosen, kCopy };

Point point(const char* who, const Level& threads, std::vector<double> seconds, double order,
            const Folder& folder = kFolder) {
  Point made{.factors = folder.point("implementation", who, threads),
             .samples = std::move(seconds)};
  for (std::size_t i = 0; i < made.samples.size(); ++i) {
    made.beside["order"].push_back(order + 10 * static_cast<double>(i));
    made.beside["threads_taken"].push_back(threads.is_number() ? threads.number() : 3);
  }
  return made;
}

// 100 files of 1 MiB on 2 PUs: copying takes 1 s, the report's program 3 s, tabane 2 s and 1.5 s.
Points plain_points(std::size_t runs = 8, const Folder& folder = kFolder) {
  Points points;
  points.declare({{"variant", ""}});
  const auto add = [&](const char* who, const Level& threads, double seconds) {
    points.add(point(who, threads, std::vector<double>(runs, seconds),
                     static_cast<double>(points.size()), folder));
  };
  add("report_static", 1, 5);
  add("report_static", 2, 3);
  add("report_dynamic", 2, 3);
  add("tabane_cbc", 2, 2);
  add("tabane_cbc", kAutomatic, 2);
  add("tabane_gcm", kAutomatic, 1.5);
  add("copy", 2, 1);
  return points;
}

// One run of 20 takes 22 s instead of 2 s: the mean is 3 s, so it counts by both rules; 2.5 s
// counts by the far fence alone.
Points points_with_outliers() {
  Points points = plain_points(20);
  points[kReportTwo].samples.assign(20, 2.0);
  points[kReportTwo].samples[4] = 22;
  points[kReportTwo].samples[7] = 2.5;
  return points;
}

Points known_causes(bool with_chain = true) {
  Points points;
  points.declare({{"implementation", ""}});
  const auto add = [&](const char* name, double seconds, double faults) {
    points.add({.factors = Folder{100, 4 << 20}.point("variant", name, kPus),
                .samples = std::vector<double>(8, seconds),
                .beside = {{"page_faults", std::vector<double>(8, faults)}}});
  };
  add(kProgram, 10, 4000);
  add("without_fresh_buffers", 8, 40);
  add("without_writing", 5, 40);
  add("without_reading", 4, 40);
  if (with_chain) add("without_chain", 1, 40);
  add("without_cipher", 0.5, 40);
  add(kDynamic, 10, 4000);
  add(kMemoryKept, 9, 100);
  add(kCopying, 5, 30);
  return points;
}

Record record_of(const Points& points) {
  Record record;
  record.name = "aes-folder";
  add_results(record, points, [](const Point&) { return "time"; });
  add_views(record, points, kPus);
  return record;
}

constexpr const char* kBest = "100 files: best";
constexpr const char* kLimit = "Against the limit";
constexpr const char* kOutliers = "Outliers of the report's";
constexpr const char* kAllOutliers = "Outliers of all";
constexpr const char* kCoincides = "What coincides";
constexpr const char* kSpends = "What the report's program spends";
constexpr const char* kChanges = "Single changes";

TEST(AesFolderTables, BestThreadsAreThoseWithTheLeastMeanAndNeverTheChosenOnes) {
  const Record record = record_of(plain_points());
  keep_page(record);
  EXPECT_EQ(shown_at(record, kBest, "OpenMP static"), "2, 3.00 s");
  EXPECT_EQ(shown_at(record, kBest, "tabane CBC"), "2, 2.00 s");
  EXPECT_EQ(shown_at(record, kBest, "tabane GCM"), "–");
}

// On the coprocessor no number is imposed.
TEST(AesFolderTables, TheCoprocessorStandsThereWithWhatItChooses) {
  Points points = plain_points();
  EXPECT_EQ(shown_at(record_of(points), kBest, "coprocessor"), "–");
  points.add(point("tabane_device", kAutomatic, std::vector<double>(8, 9), 7));
  EXPECT_EQ(shown_at(record_of(points), kBest, "coprocessor"), "3, 9.00 s");
}

TEST(AesFolderTables, BestThreadsStandBesideTheReports) {
  const Record record = record_of(plain_points());
  EXPECT_EQ(shown_at(record, kBest, "2 x Xeon E5-2640"), "20, 173 ms");
  EXPECT_EQ(shown_at(record, kBest, "Xeon Phi 5110P"), "100, 687 ms");
  const Record other = record_of(plain_points(8, {100, 12345}));
  EXPECT_EQ(shown_at(other, kBest, "2 x Xeon E5-2640"), "–");
}

TEST(AesFolderTables, EachNumberOfFilesHasItsOwn) {
  Points points = plain_points();
  for (const Point& other : plain_points(8, {10, 128})) points.add(other);
  const Record record = record_of(points);
  EXPECT_EQ(table(record, "10 files: best").rows.size(), 1u);
  EXPECT_EQ(table(record, kBest).rows.size(), 1u);
}

// With one thread the report's program is faster than tabane, with two it is slower, and where each
// chooses tabane takes one: no row may compare two threads of one with one of the other unsaid.
TEST(AesFolderTables, LimitComparesEqualNumbersOfThreadsInARow) {
  Points points = plain_points();
  points.add(point("copy", 1, std::vector<double>(8, 2), 7));
  points.add(point("tabane_cbc", 1, std::vector<double>(8, 10), 8));
  const Record record = record_of(points);
  EXPECT_EQ(shown_at(record, kLimit, "copying", ", 1 thread"), "2.00 s");
  EXPECT_EQ(shown_at(record, kLimit, "OpenMP static", ", 1 thread"), "5.00 s");
  EXPECT_EQ(shown_at(record, kLimit, "tabane CBC", ", 1 thread"), "10.0 s");
  EXPECT_EQ(shown_at(record, kLimit, "CBC / static", ", 1 thread"), "2.00 [2.00, 2.00]");
  EXPECT_EQ(shown_at(record, kLimit, "CBC / copying", ", 1 thread"), "5.00 [5.00, 5.00]");
  EXPECT_EQ(shown_at(record, kLimit, "CBC / static", ", 2 threads"), "0.67 [0.67, 0.67]");
  EXPECT_EQ(shown_at(record, kLimit, "static / copying", ", 2 threads"), "3.00 [3.00, 3.00]");
  EXPECT_EQ(shown_at(record, kLimit, "GCM / static", ", each chooses"), "0.50 [0.50, 0.50]");
  // The table of the best numbers has the same samples.
  EXPECT_EQ(shown_at(record, kBest, "tabane CBC"), "2, 2.00 s");
}

TEST(AesFolderTables, LimitSaysWhereNoDifferenceIsSeen) {
  Points points = plain_points();
  points[kCbcTwo].samples = {2, 4, 2, 4, 2, 4, 2, 4};
  EXPECT_EQ(shown_at(record_of(points), kLimit, "CBC / static", ", 2 threads"),
            "no difference seen");
}

TEST(AesFolderTables, OutliersAreCountedByTheReportsRuleAndByTheFarFence) {
  EXPECT_EQ(row_of(view_of(record_of(points_with_outliers()), kOutliers), 0),
            (std::vector<std::string>{"100 x 1 MiB", "40", "1", "2", "11.0", "2", "3.02 s",
                                      "2.00 s", "23 (10 threads), 25 (20 threads)"}));
}

TEST(AesFolderTables, OutliersOfAllAddUpTheFolders) {
  Points points = points_with_outliers();
  for (const Point& other : plain_points(8, {10, 128})) points.add(other);
  const Record record = record_of(points);
  EXPECT_EQ(shown_at(record, kAllOutliers, "runs", "OpenMP static"), "56");
  EXPECT_EQ(shown_at(record, kAllOutliers, "far fence", "OpenMP static"), "2");
  EXPECT_EQ(shown_at(record, kAllOutliers, "far fence", "OpenMP dynamic"), "0");
}

TEST(AesFolderTables, OutliersAreComparedWithNormalRuns) {
  Points points = points_with_outliers();
  auto& beside = points[kReportTwo].beside;
  for (const char* name : {"steal_s", "involuntary_switches", "page_faults"})
    beside[name].assign(20, 0.0);
  beside["steal_s"][4] = 0.02;
  beside["steal_s"][5] = std::nan("");
  beside["involuntary_switches"][4] = 900;
  beside["page_faults"][12] = 70;
  const Record record = record_of(points);
  const auto count = [&](const char* kind, const char* column) {
    return shown_at(record, kCoincides, column, kind);
  };
  EXPECT_EQ(count("runs", "OpenMP static: outliers"), "2");
  EXPECT_EQ(count("runs", "normal runs"), "38");
  EXPECT_EQ(count("more involuntary", "OpenMP static: outliers"), "1 (50 %)");
  EXPECT_EQ(count("more page faults", "OpenMP static: outliers"), "0 (0 %)");
  EXPECT_EQ(count("more page faults", "normal runs"), "1 (2.6 %)");
  EXPECT_EQ(count("more steal", "OpenMP static: outliers"), "1 (50 %)");
  EXPECT_EQ(count("none", "OpenMP static: outliers"), "1 (50 %)");
}

TEST(AesFolderTables, SlowRunsBesideEachOtherAreSeen) {
  Points points = points_with_outliers();
  // A copy right after the slow run of the report's program is slow too.
  points[kCopy].samples[4] = 9;
  points[kCopy].beside["order"][4] = points[kReportTwo].beside["order"][4] + 0.5;
  const Record record = record_of(points);
  EXPECT_EQ(shown_at(record, kCoincides, "OpenMP static: outliers", "another slow run"),
            "1 (50 %)");
  EXPECT_EQ(shown_at(record, kCoincides, "all implementations: outliers", "another slow run"),
            "2 (67 %)");
}

TEST(AesFolderTables, TimesAreThoseOfTheReportsTables) {
  const Record record = record_of(points_with_outliers());
  const auto row = [&](std::size_t threads) {
    auto texts = row_of(view_of(record, "100 files: mean, sh"), threads - 1);
    for (std::string& text : texts)
      for (std::size_t at = 0; (at = text.find("\u00A0", at)) != text.npos; ++at)
        text.replace(at, 2, " ");
    return texts;
  };
  // The run of 22 s is abnormal, that of 2.5 s is not.
  EXPECT_EQ(row(2), (std::vector<std::string>{
                        "1 MiB", "2", "3.02 s", "2.00 s to 22.0 s", "1 of 20; others 2.03 s",
                        "631 ms", "612 ms to 1.04 s", "0", "4.51 s", "4.44 s to 5.11 s", "0"}));
  EXPECT_EQ(row(1)[4], "0");
}

TEST(AesFolderPublished, RunsAreThoseOfTheReport) {
  const auto& xeon = published_runs(*reports()[0]);
  const auto& phi = published_runs(*reports()[1]);
  EXPECT_EQ(xeon.size(), 144u);
  EXPECT_EQ(phi.size(), 176u);
  const auto of = [](const auto& runs, std::uint64_t files, std::uint64_t bytes, double threads) {
    return *std::ranges::find_if(runs, [&](const PublishedRuns& one) {
      return one.folder.files == files && one.folder.bytes == bytes && one.threads == threads;
    });
  };
  const PublishedRuns slow = of(xeon, 100, 1 << 20, 20);
  EXPECT_EQ(slow.mean, 1.7784);
  EXPECT_EQ(slow.minimum, 0.1626);
  EXPECT_EQ(slow.maximum, 11.9324);
  EXPECT_EQ(slow.normal_runs, 75);
  EXPECT_EQ(slow.normal_mean, 0.1733);
  EXPECT_FALSE(of(xeon, 10, 256, 10).mean);  // not legible
  EXPECT_FALSE(of(phi, 100, 4 << 20, 100).mean);
}

// Each published best is the least mean of normal runs in the rows.
TEST(AesFolderPublished, BestFiguresFollowFromTheRows) {
  for (const Record* report : reports()) {
    std::map<std::string, std::pair<double, double>> best;
    for (const PublishedRuns& one : published_runs(*report)) {
      const auto mean = one.normal_mean ? one.normal_mean : one.mean;
      const std::string name =
          "aes_folder.best." + folder_name(one.folder.point("implementation", "", one.threads));
      if (mean && (!best.contains(name) || *mean < best[name].first))
        best[name] = {*mean, one.threads};
    }
    EXPECT_EQ(best.size(), 32u);
    for (const auto& [name, figure] : best) {
      const Result* found = report->find(name);
      ASSERT_NE(found, nullptr) << name;
      EXPECT_DOUBLE_EQ(*found->value, figure.first) << name;
      EXPECT_EQ(found->number_detail("threads"), figure.second) << name;
    }
  }
}

// On the disk two of twelve runs take 8 s and 5 s instead of 1 s: in the first the device was
// waited for 7 s longer than usual, in the second 1 s longer.
TEST(AesFolderTables, SlowRunsInTheOtherDirectoryAreHeldAgainstWaiting) {
  Points points;
  points.declare({{"implementation", ""}});
  for (const char* place : {kHere, kAlso}) {
    Point one{.factors = place_factors(place, kReport, kFolder, kPus),
              .samples = std::vector<double>(12, 1.0)};
    std::vector<double> waits(12, 0.5), order;
    for (int i = 0; i < 12; ++i) order.push_back(i);
    if (place == std::string_view(kAlso)) {
      one.samples[3] = 8, waits[3] = 7.5;
      one.samples[9] = 5, waits[9] = 1.5;
    }
    one.beside = {{"machine_io_wait_s", waits}, {"order", order}};
    points.add(one);
  }
  Record record;
  record.name = "aes-folder";
  add_places({record, points, *reports()[0]}, "/disk");
  EXPECT_EQ(missing_views("aes-folder", record,
                          {{"", false}, {"with --also", true}, {"with a coprocessor", false}}),
            Names());
  const Rows& rows = table(record, "Slow runs in both");
  ASSERT_EQ(rows.rows.size(), 2u);
  const auto own = row_of(view_of(record, "Slow runs in both"), 0),
             other = row_of(view_of(record, "Slow runs in both"), 1);
  const auto lost = [](const auto& row) { return std::vector(row.begin() + 8, row.begin() + 12); };
  EXPECT_EQ(lost(own), (std::vector<std::string>{"0", "0", "–", "–"}));
  EXPECT_EQ(lost(other), (std::vector<std::string>{"2", "2", "11.0 s", "73 %"}));
  ASSERT_EQ(record.sentences.size(), 1u);
  EXPECT_NE(record.sentences[0].find("In /disk, 2 of 12 runs"), std::string::npos);
  EXPECT_NE(record.sentences[0].find("was 73 % of what"), std::string::npos);
}

TEST(AesFolderTables, SharesOfWhatGoesAddUpToTheWhole) {
  EXPECT_EQ(row_of(view_of(record_of(known_causes()), kSpends), 0),
            (std::vector<std::string>{"100 x 4 MiB", "10.0 s", "20 %", "30 %", "10 %", "30 %",
                                      "5.0 %", "5.0 %", "4000", "40"}));
}

TEST(AesFolderTables, TheWholeCipherCountsWhereChainsCannotBeMixed) {
  const Record record = record_of(known_causes(false));
  EXPECT_EQ(shown_at(record, kSpends, "waiting in the chain"), "not measured");
  EXPECT_EQ(shown_at(record, kSpends, "AES"), "35 %");
}

TEST(AesFolderTables, EachChangeAloneIsARatio) {
  EXPECT_EQ(row_of(view_of(record_of(known_causes()), kChanges), 0),
            (std::vector<std::string>{"100 x 4 MiB", "1.00 [1.00, 1.00]", "0.90 [0.90, 0.90]",
                                      "100", "0.80 [0.80, 0.80]", "0.50 [0.50, 0.50]"}));
}

// Bytes in a nanosecond: CBC one, GCM four.
TEST(AesFolderTables, RatesOfCiphersAreHeldAgainstCbc) {
  Points points;
  for (const double bytes : {64, 4096}) {
    for (const auto& [cipher, rate] : {std::pair{kCbc, 1e9}, {"AES-128-GCM", 4e9}})
      points.add({.factors = cipher_factors(cipher, static_cast<std::uint64_t>(bytes)),
                  .samples = std::vector<double>(6, bytes / rate)});
  }
  Record record;
  record.name = "aes-folder";
  add_cipher_views({record, points, *reports()[0]});
  EXPECT_EQ(row_of(view_of(record, "those of today"), 1),
            (std::vector<std::string>{"4 KiB", "1.00 GB/s", "4.00 GB/s", "4.00 [4.00, 4.00]"}));
  const auto* curves = find_content<Curves>(record, "aes_folder.ciphers");
  ASSERT_NE(curves, nullptr);
  EXPECT_EQ(curves->series.at(1).x, (std::vector<double>{64, 4096}));
  EXPECT_NEAR(curves->series[1].y[0], 4e9, 1);
}

TEST(AesFolderResults, AreHeldAgainstCopyingWithAsManyThreads) {
  Points points = plain_points();
  points.add(point("copy", 3, std::vector<double>(8, 0.5), 7));  // as many as tabane took
  const Record record = record_of(points);
  const Result* imposed = record.find("aes_folder.report_static.files100.bytes1048576.threads2");
  ASSERT_NE(imposed, nullptr);
  EXPECT_EQ(imposed->limit->value, 1);
  const Result* chosen = record.find("aes_folder.tabane_cbc.files100.bytes1048576.automatic");
  ASSERT_NE(chosen, nullptr);
  EXPECT_DOUBLE_EQ(*chosen->of_limit(), 0.25);
}

// A second thread takes longer to start than small files to copy.
TEST(AesFolderResults, AreHeldAgainstTheFastestCopying) {
  Points points = plain_points();
  points[kCopy].samples.assign(8, 4);
  points.add(point("copy", 1, std::vector<double>(8, 0.5), 7));
  const Record record = record_of(points);
  const Result* result = record.find("aes_folder.tabane_cbc.files100.bytes1048576.threads2");
  ASSERT_NE(result, nullptr);
  EXPECT_DOUBLE_EQ(*result->of_limit(), 0.25);
  EXPECT_NE(result->limit->how.find("with 1 thread,"), std::string::npos) << result->limit->how;
  EXPECT_EQ(shown_at(record, kLimit, "copying", ", 2 threads"), "500 ms");
  EXPECT_EQ(shown_at(record, kLimit, "CBC / copying", ", 2 threads"), "4.00 [4.00, 4.00]");
  EXPECT_EQ(find_content<Curves>(record, "aes_folder.limit.100")->series.at(2).y.at(0), 4);
}

TEST(AesFolderResults, HaveTheNamesOfThePublishedOnes) {
  const Record record = record_of(plain_points());
  const Result* best = record.find("aes_folder.best.files100.bytes1048576");
  ASSERT_NE(best, nullptr);
  EXPECT_EQ(*best->value, 3);
  EXPECT_EQ(best->number_detail("threads"), 2);
}

TEST(AesFolderResults, OfNothingAreNothing) {
  const Record record = record_of(Points());
  EXPECT_TRUE(record.results.empty());
  EXPECT_TRUE(record.views.empty());
}

TEST(AesFolderCharts, MapRatiosToTheBestCopying) {
  const Record record = record_of(plain_points());
  const auto* map = find_content<Matrix>(record, "aes_folder.threads.report_static.100");
  ASSERT_NE(map, nullptr);
  EXPECT_EQ(map->rows, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(map->columns, std::vector<std::string>{"1 MiB"});
  EXPECT_EQ(map->values[0][0], 5);
  EXPECT_EQ(map->values[1][0], 3);
}

TEST(AesFolderCharts, DrawTimesAgainstCopyingWithoutWhatWasNotMeasured) {
  Points points = plain_points();
  points[kCbcTwo].samples.clear();
  points.add(point("tabane_gcm", 2, std::vector<double>(8, 1.5), 7));
  const Record record = record_of(points);
  const auto* limit = find_content<Curves>(record, "aes_folder.limit.100");
  ASSERT_NE(limit, nullptr);
  ASSERT_EQ(limit->series.size(), 3u);
  EXPECT_EQ(limit->series[2].name, "tabane GCM");
  EXPECT_EQ(limit->series[2].y, std::vector<double>{1.5});
}

TEST(AesFolderCharts, ShowTheOrderOfTheRunsThatLostMostWithOutliersFlagged) {
  Points points = plain_points(8, {10, 128});
  for (const Point& other : points_with_outliers()) points.add(other);
  const Record record = record_of(points);
  const auto* order = find_content<Curves>(record, "aes_folder.order");
  ASSERT_NE(order, nullptr);
  EXPECT_EQ(record.find_view("aes_folder.order")->title,
            "All runs of 100 files of 1 MiB with 2 threads, in the order of time");
  const Curve& report = order->series.at(0);
  EXPECT_EQ(report.x[4], 42);  // runs count from 1
  EXPECT_TRUE(report.flagged[4]);
  EXPECT_FALSE(report.flagged[5]);
  EXPECT_FALSE(report.joined);
}

TEST(AesFolderCharts, AreDrawnForEveryView) {
  Points points = plain_points();
  for (const Point& other : plain_points(8, {100, 4096})) points.add(other);
  points[kReportTwo].samples[4] = 3.9;
  const auto figures = make_figures(record_of(points));
  std::vector<std::string> ids;
  for (const Figure& figure : figures) ids.push_back(figure.id);
  EXPECT_EQ(ids, (std::vector<std::string>{"aes_folder_threads_report_static_100",
                                           "aes_folder_limit_100", "aes_folder_order"}));
  EXPECT_NE(figures[0].script.find("set logscale cb 2"), std::string::npos);
}

}  // namespace
}  // namespace tabane::lab::aes_folder
