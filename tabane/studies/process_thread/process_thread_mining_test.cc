// Tables and charts of mining on encrypted transactions from points that are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "tabane/lab/record/text.h"
#include "tabane/lab/study/views_test.h"
#include "tabane/studies/process_thread/process_thread.h"

namespace tabane::lab::process_thread {
namespace {

void add(Points& points, const char* program, const WorkerStart& start, double seconds,
         double created) {
  const std::vector<double> three(3, seconds);
  points.add({.factors = mining_factors(program, "glibc", start),
              .samples = three,
              .beside = {{"start_s", {created, created, created}}, {"requests", {100, 100, 100}}}});
}

// With two workers threads take 1.6 s, serial forks 1.25 s, a tree 1 s; in place a quarter of it.
Points known_mining() {
  Points points;
  for (const auto& [program, scale] : {std::pair{"values", 1.0}, {"in-place", 0.25}}) {
    add(points, program, {"threads", {1, 1}}, 2 * scale, 0.0001);
    add(points, program, {"threads", {1, 2}}, 1.6 * scale, 0.0002);
    add(points, program, {"serial", {2, 1}}, 1.25 * scale, 0.004);
    add(points, program, {"tree", {2, 1}}, 1.0 * scale, 0.002);
  }
  return points;
}

Record shown_mining(const Points& points) {
  Record record;
  record.name = "process-thread";
  add_mining_views(record, points, 2);
  return record;
}

using Texts = std::vector<std::string>;

TEST(MiningViews, TotalTimeIsByWorkersWithItsSpeedup) {
  const Record record = shown_mining(known_mining());
  const View& view = view_of(record, "values (glibc): total time");
  EXPECT_EQ(row_of(view, 0), (Texts{"1", "2.00 s", "1.00", "–", "–", "–", "–", "–"}));
  EXPECT_EQ(row_of(view, 1),
            (Texts{"2", "1.60 s", "1.25", "1.25 s", "1.60", "1.00 s", "2.00", "2 x 1"}));
  EXPECT_NE(view.note.find("One worker takes 20.0 ms for a product"), std::string::npos)
      << view.note;
  EXPECT_NE(view.note.find("324972"), std::string::npos) << view.note;
}

TEST(MiningViews, TotalTimeIsAChartToo) {
  const Record record = shown_mining(known_mining());
  const auto* curves = find_content<Curves>(record, "process_thread.mining.time.values");
  ASSERT_NE(curves, nullptr);
  ASSERT_EQ(curves->series.size(), 3u);
  EXPECT_EQ(curves->series[0].y, (std::vector<double>{2, 1.6}));
  EXPECT_EQ(curves->series[2].y, std::vector<double>{1});
}

TEST(MiningViews, ParametersAreNextToTheReports) {
  Record record;
  record.name = "process-thread";
  add_mining_parameters(record, 0.01);
  add_mining_views(record, known_mining(), 2);
  const auto shown = [&](const char* what, const char* where) {
    for (const auto& row : texts_of(record, "the parameters"))
      if (row[0].starts_with(what)) return row[where == std::string("here") ? 1 : 2];
    return std::string("no row");
  };
  EXPECT_EQ(shown("plaintext modulus", "report"),
            "11^7 = 19487171, above the number of transactions");
  EXPECT_EQ(shown("security", "here"), "128");
  EXPECT_EQ(shown("security", "report"), "80");
  EXPECT_EQ(shown("columns", "here"), "no key switches");
  EXPECT_EQ(shown("slots", "here"), "4096");
  EXPECT_EQ(shown("memory", "report"), "about 40 GB");
  EXPECT_THROW(view_of(shown_mining(known_mining()), "the parameters"), std::runtime_error);
}

TEST(MiningViews, CreationStandsApartFromTotalTime) {
  const Record record = shown_mining(known_mining());
  EXPECT_EQ(row_of(view_of(record, "values (glibc): creation time"), 0),
            (Texts{"2", "200 µs", "4.00 ms", "2.00 ms", "2.00", "0.2 %", "2 x 1"}));
  const auto* curves = find_content<Curves>(record, "process_thread.mining.creation.in-place");
  ASSERT_NE(curves, nullptr);
  ASSERT_EQ(curves->series.size(), 3u);
  EXPECT_EQ(curves->series[2].y, std::vector<double>{0.002});
}

TEST(MiningViews, GainStandsBesideTheReports) {
  const Record record = shown_mining(known_mining());
  const View& view = view_of(record, "threads against teams");
  const Texts row = row_of(view, 0);
  EXPECT_EQ(row[0], "values");
  EXPECT_EQ(row[7].substr(0, 4), "1.28");
  EXPECT_EQ(row[8].substr(0, 4), "1.60");
  EXPECT_EQ(row[9], "14.5");
  const Result* gain = record.find("process_thread.gain.mining-values.glibc");
  ASSERT_NE(gain, nullptr);
  EXPECT_DOUBLE_EQ(*gain->value, 1.6);
}

TEST(MiningViews, ProgramsAreComparedPerProduct) {
  const Record record = shown_mining(known_mining());
  EXPECT_EQ(row_of(view_of(record, "values against in-place"), 0),
            (Texts{"glibc", "20.0 ms", "10.0 ms", "5.00 ms", "2.50 ms", "4.00", "4.00"}));
}

TEST(MiningViews, OneProgramAloneIsNotCompared) {
  Points points;
  add(points, "values", {"threads", {1, 1}}, 2, 0.0001);
  const Record record = shown_mining(points);
  EXPECT_THROW(view_of(record, "values against in-place"), std::runtime_error);
  EXPECT_THROW(view_of(record, "threads against teams"), std::runtime_error);
  EXPECT_NO_THROW(view_of(record, "total time"));
}

TEST(MiningViews, NothingMinedShowsNothing) {
  Points points;
  points.add({.factors = shape_factors("words", "glibc", {1, 1}), .samples = {1}});
  EXPECT_TRUE(shown_mining(points).views.empty());
}

}  // namespace
}  // namespace tabane::lab::process_thread
