// Tables, record and figures of the study ap1000 from samples that are known.
#include <gtest/gtest.h>

#include <cmath>

#include "tabane/lab/figures/ap1000.h"
#include "tabane/lab/studies/ap1000_data.h"

namespace tabane::lab::ap1000 {
namespace {

std::vector<double> six(double seconds) { return std::vector<double>(6, seconds); }

// Copying: 1 µs and 1 GB/s; in place: 0.5 µs and 4 GB/s. A barrier by flags 1 µs, by messages
// 2 log2 p + 1 µs. Element by element 1 µs each, a vector 3 µs.
Findings known() {
  Findings findings;
  findings.pus = 2;
  findings.transport = "shm";
  const auto add = [&](Point point) { findings.points.push_back(std::move(point)); };
  for (const std::uint64_t bytes : ping_pong_sizes(1 << 22)) {
    const auto n = static_cast<double>(bytes);
    add({.part = "pingpong", .way = "recv", .bytes = bytes, .seconds = six(1e-6 + n * 1e-9)});
    add({.part = "pingpong", .way = "view", .bytes = bytes, .seconds = six(0.5e-6 + n / 4e9)});
  }
  for (const int ranks : {2, 4, 8}) {
    add({.part = "barrier", .way = "flags", .ranks = ranks, .seconds = six(1e-6)});
    add({.part = "barrier",
         .way = "messages",
         .ranks = ranks,
         .seconds = six((2 * std::log2(ranks) + 1) * 1e-6)});
    add({.part = "sum", .way = "chosen", .group = "all", .ranks = ranks, .seconds = six(2e-6)});
  }
  for (std::uint64_t n = 1; n <= 64; n *= 2) {
    const auto elements = static_cast<double>(n);
    add({.part = "vector", .way = "elements", .bytes = 8 * n, .seconds = six(elements * 1e-6)});
    add({.part = "vector", .way = "vector", .bytes = 8 * n, .seconds = six(3e-6)});
  }
  for (const std::uint64_t bytes : {8, 4096, 65536}) {
    add({.part = "broadcast",
         .way = "flags",
         .ranks = 8,
         .bytes = bytes,
         .seconds = six(2e-6 + static_cast<double>(bytes) * 0.5e-9)});
  }
  return findings;
}

Study shown(const Findings& findings) {
  Study study;
  add_record(study.record, findings);
  add_tables(study, findings);
  return study;
}

const StudyTable& find(const Study& study, const std::string& part) {
  for (const StudyTable& table : study.tables) {
    if (table.title.find(part) != std::string::npos) return table;
  }
  throw std::runtime_error("no table " + part);
}

TEST(Ap1000Plan, SizesArePowersOfTwoAndThreeBytesBeside) {
  EXPECT_EQ(ping_pong_sizes(16), (std::vector<std::uint64_t>{1, 2, 4, 5, 7, 8, 11, 13, 16}));
  EXPECT_EQ(ping_pong_sizes(1 << 22).back(), 1u << 22);
}

TEST(Ap1000Plan, RanksArePowersOfTwoAndTheMost) {
  EXPECT_EQ(plan_ranks(8), (std::vector<int>{2, 4, 8}));
  EXPECT_EQ(plan_ranks(12), (std::vector<int>{2, 4, 8, 12}));
  EXPECT_EQ(plan_ranks(2), (std::vector<int>{2}));
  EXPECT_TRUE(plan_ranks(1).empty());
}

TEST(Ap1000Tables, PingPongHasRatiosAndBandwidth) {
  const Study study = shown(known());
  const StudyTable& table = find(study, "Half a round trip");
  EXPECT_EQ(table.rows[1][0], "1 B");
  EXPECT_EQ(table.rows[2][0], "8 B");
  const auto& row = table.rows.at(5);  // 4 KiB
  EXPECT_EQ(row[0], "4 KiB");
  EXPECT_EQ(row[1], "5.10 µs [5.10 µs, 5.10 µs]");
  EXPECT_EQ(row[3].substr(0, 4), "3.34");  // 5.096 / 1.524
  EXPECT_EQ(row[4], "804 MB/s");
}

TEST(Ap1000Tables, FitsStandBesideTheReports) {
  const Study study = shown(known());
  const StudyTable& table = find(study, "lines through");
  ASSERT_EQ(table.rows.size(), 7u);  // head, one segment each, four of the report
  EXPECT_EQ(table.rows[1][1], "1 B … 4 MiB");
  EXPECT_EQ(table.rows[1][2].substr(0, 8), "1.00 µs");
  EXPECT_EQ(table.rows[1][3].substr(0, 9), "1.00 GB/s");
  EXPECT_EQ(table.rows[1][4].substr(0, 6), "1000 B");
  EXPECT_EQ(table.rows[2][2].substr(0, 6), "500 ns");
  EXPECT_EQ(table.rows[3][1], "0.18 x + 19 µs");
  EXPECT_EQ(table.rows[3][4], "105 B");
}

TEST(Ap1000Tables, BarrierByMessagesIsFittedOverTheLogarithm) {
  const Study study = shown(known());
  const StudyTable& table = find(study, "Barrier");
  EXPECT_NE(table.remark.find("2 log2 p + 1 µs"), std::string::npos) << table.remark;
  EXPECT_EQ(table.rows[3][0], "8");
  EXPECT_EQ(table.rows[3][3], "7.00 [7.00, 7.00]");
  EXPECT_EQ(table.rows[3][4], "106 µs");  // 33 · 3 + 6.8
}

TEST(Ap1000Tables, VectorWinsFromWhereItStaysFaster) {
  const Study study = shown(known());
  const StudyTable& table = find(study, "Sum of a vector");
  EXPECT_NE(table.remark.find("on: 4 with 2 ranks"), std::string::npos) << table.remark;
  EXPECT_EQ(table.rows[1][4], "–");  // no tree was measured
}

TEST(Ap1000Tables, BroadcastHasItsFormulaAndTheReports) {
  const Study study = shown(known());
  const StudyTable& table = find(study, "Broadcast");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[1][5], "0.000500 x + 2");
  EXPECT_EQ(table.rows[1][6], "0.11 x + 2.8");
}

TEST(Ap1000Tables, NothingMeasuredShowsNothing) {
  Findings findings = known();
  for (Point& point : findings.points) point.seconds.clear();
  const Study study = shown(findings);
  EXPECT_TRUE(study.tables.empty());
  EXPECT_TRUE(study.record.results.empty());
  EXPECT_TRUE(make_ap1000_figures(study.record).empty());
}

TEST(Ap1000Record, HasEverySampleAndTheFits) {
  const Study study = shown(known());
  const Result* barrier = study.record.find("ap1000.barrier.messages.r4");
  ASSERT_NE(barrier, nullptr);
  ASSERT_EQ(barrier->samples.size(), 6u);
  EXPECT_NEAR(barrier->samples[5], 5e-6, 1e-12);
  const Result* n_half = study.record.find("ap1000.fit.recv.1.n_half");
  ASSERT_NE(n_half, nullptr);
  EXPECT_NEAR(*n_half->value, 1000, 1);
  EXPECT_EQ(n_half->parameters.at("to_bytes"), 1 << 22);
  EXPECT_EQ(study.record.find("ap1000.sum.chosen.all.r8")->parameters.at("group"), "all");
}

TEST(Ap1000Figures, LinesHaveTheColourOfTheirPointsAndThePusAreMarked) {
  const auto figures = make_ap1000_figures(shown(known()).record);
  ASSERT_EQ(figures.size(), 5u);  // a broadcast on 8 ranks only is no curve
  EXPECT_EQ(figures[0].id, "ap1000_pingpong_time");
  EXPECT_EQ(figures[1].id, "ap1000_pingpong_bandwidth");
  const auto colour_of = [&](const std::string& index) {
    const std::size_t at = figures[0].script.find("data index " + index);
    return figures[0].script.substr(figures[0].script.find("rgb '", at), 13);
  };
  EXPECT_EQ(colour_of("0"), colour_of("1"));
  EXPECT_EQ(colour_of("2"), colour_of("3"));
  EXPECT_NE(colour_of("0"), colour_of("2"));
  EXPECT_NE(figures.back().script.find("the 2 PUs'"), std::string::npos) << figures.back().script;
}

// ---- calibration ----

Point measured(const char* way, int ranks, std::uint64_t bytes, double seconds) {
  return {.part = "broadcast", .way = way, .ranks = ranks, .bytes = bytes, .seconds = six(seconds)};
}
comm::Setting memory(int) { return comm::Setting::memory; }

TEST(Ap1000Choice, KeepsTheBuiltInUnlessAnotherIsSurelyFaster) {
  // Built in: flags up to 64 KiB.
  const std::vector<Point> points = {
      measured("flags", 2, 8, 1.0), measured("scatter_all_gather", 2, 8, 0.97),
      measured("flags", 2, 512, 1.0), measured("scatter_all_gather", 2, 512, 0.5)};
  const auto chosen = choose(points, memory);
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_EQ(chosen[0].chosen->way, "flags");
  EXPECT_EQ(chosen[1].chosen->way, "scatter_all_gather");
  EXPECT_EQ(chosen[1].built_in->way, "flags");
}

TEST(Ap1000Choice, RulesCutHalfwayBetweenSizesAndSayTheirRanks) {
  const std::vector<Point> points = {
      measured("flags", 2, 8, 1.0),   measured("scatter_all_gather", 2, 8, 2.0),
      measured("flags", 2, 512, 2.0), measured("scatter_all_gather", 2, 512, 1.0),
      measured("flags", 4, 8, 1.0),   measured("scatter_all_gather", 4, 8, 2.0)};
  const comm::ChoiceTable table(rules_of(choose(points, memory)));
  const auto& rules = table.rules();
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(rules[0].algorithm->name, "flags");
  EXPECT_EQ(rules[0].most_bytes, 64u);  // √(8 · 512)
  EXPECT_EQ(rules[0].most_ranks, 2);
  EXPECT_EQ(rules[1].algorithm->name, "scatter_all_gather");
  EXPECT_EQ(rules[1].most_bytes, comm::Rule::kAnyBytes);
  EXPECT_EQ(rules[2].algorithm->name, "flags");
  EXPECT_EQ(rules[2].most_ranks, comm::Rule::kAnyRanks);
  EXPECT_EQ(comm::ChoiceTable::parse(table.format(), "test").rules().size(), 3u);
}

TEST(Ap1000Choice, EqualRulesOfSeveralRanksBecomeOne) {
  const std::vector<Point> points = {measured("flags", 2, 8, 1.0), measured("flags", 4, 8, 1.0)};
  ASSERT_EQ(rules_of(choose(points, memory)).size(), 1u);
}

}  // namespace
}  // namespace tabane::lab::ap1000
