#include "tabane/tools/time/time_record.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/lab/study/views_test.h"
#include "tabane/tools/time/simulated_commands_test.h"

namespace tabane::lab {
namespace {

struct Timed {
  explicit Timed(int rounds, double second = 0.2) : machine(1, 0.01) {
    contenders = {machine.command("sort, \"a\"", 0.1), machine.command("b | c", second)};
    for (std::size_t i = 0; i < 2; ++i) contenders[i].factors.set("threads", 1 + i);
    effort.rounds.fewest = effort.rounds.most = rounds;
    effort.least_seconds = 0;
    timings = time_in_turn(contenders, effort, machine.clock, {});
  }
  Record record(const TimedWith& with = {.command_line = "tabane time a b"}) const {
    return time_record(core::Topology::synthetic("pu:2"), contenders, effort, timings, with);
  }

  SimulatedMachine machine;
  std::vector<TimeContender> contenders;
  TimeEffort effort;
  Timings timings;
};

std::size_t columns_of(const std::string& line) {
  std::size_t columns = 1;
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    columns += c == ',' && !quoted;
  }
  return columns;
}

TEST(TimeRecord, HasAFigureForEachCommandAndRatio) {
  const Record record = Timed(20).record();
  const Result* second = record.find("time.b_|_c.threads2");
  ASSERT_NE(second, nullptr);
  EXPECT_NEAR(*second->value, 0.2, 0.01);
  EXPECT_EQ(second->samples.size(), 20u);
  ASSERT_TRUE(second->interval);
  const Result* ratio = record.find("time.b_|_c.threads2.ratio");
  ASSERT_NE(ratio, nullptr);
  EXPECT_NEAR(*ratio->value, 2, 0.1);
  EXPECT_NE(record.find("time.b_|_c.threads2.user"), nullptr);
  EXPECT_EQ(record.find("time.b_|_c.threads2.peak_memory"), nullptr);  // not known
}

// The second command is shorter than what is counted; the system has no counter of energy.
TEST(TimeRecord, ShowsWhatTheProcessorCountedIfItDid) {
  Timed timed(20);
  timed.contenders[0].run = [run = timed.contenders[0].run](double timeout, bool for_peak) {
    ChildRun counted = run(timeout, for_peak);
    counted.counts = {{core::events::kInstructions, 3e6},
                      {core::events::kCycles, 2e6},
                      {core::events::kTlbMisses, 1500}};
    return counted;
  };
  EXPECT_EQ(timed.record().find_view("time.table.2"), nullptr);
  timed.timings = time_in_turn(timed.contenders, timed.effort, timed.machine.clock, {});
  const Record record = timed.record();
  EXPECT_EQ(texts_of(record, "Counted by"),
            (std::vector<Names>{{"sort, \"a\"", "3", "2", "1.5"}, {"b | c", "–", "–", "–"}}));
  EXPECT_EQ(table(record, "Counted by").columns[3], "TLB misses, thousands");
  EXPECT_EQ(record.results[0].beside.at("cycles").size(), 20u);
}

TEST(TimeRecord, IsWrittenAndReadAgain) {
  const Record record = Timed(20).record();
  const Record again = record_from_json(to_json(record));
  EXPECT_EQ(again.results.size(), record.results.size());
  EXPECT_EQ(again.views.size(), record.views.size());
  for (const char* view :
       {"time.ratios", "time.over.threads", "time.runs", "time.distribution", "time.known"})
    EXPECT_NE(again.find_view(view), nullptr) << view;
}

TEST(TimeRecord, CountsRunsFrom1) {
  const Record record = Timed(20).record();
  std::vector<double> runs;
  for (const Curve& curve : std::get<Curves>(record.find_view("time.runs")->content).series)
    runs.insert(runs.end(), curve.x.begin(), curve.x.end());
  std::ranges::sort(runs);
  ASSERT_EQ(runs.size(), 40u);
  for (std::size_t i = 0; i < runs.size(); ++i) EXPECT_EQ(runs[i], i + 1.0);
}

TEST(TimeRecord, OfOneRoundHasNoIntervals) {
  const Record record = Timed(1).record();
  EXPECT_FALSE(record.find("time.b_|_c.threads2.ratio")->interval);
  EXPECT_EQ(record.sentences[0],
            "'b | c' and 'sort, \"a\"': too few rounds to say which is faster.");
}

TEST(RatioSentence, SaysHowMuchLongerAndWhenNothingIsSeen) {
  EXPECT_EQ(ratio_sentence("b", "a", {1.42, {1.38, 1.47}, 20}),
            "'b' takes 1.42 [1.38, 1.47] times as long as 'a'.");
  EXPECT_EQ(ratio_sentence("b", "a", {0.5, {0.4, 0.6}, 20}),
            "'b' takes 0.50 [0.40, 0.60] times as long as 'a': it is 2.00 times as fast.");
  EXPECT_EQ(ratio_sentence("b", "a", {0.0352, {0.03, 0.04}, 20}),
            "'b' takes 0.0352 [0.0300, 0.0400] times as long as 'a': it is 28.4 times as fast.");
  EXPECT_EQ(ratio_sentence("b", "a", {1.004, {0.998, 1.009}, 20}),
            "No difference seen between 'b' and 'a': ratio 1.004 [0.998, 1.009].");
}

TEST(TimeRecord, WarnsOfOutliersAndOfWhatIsTooShort) {
  Timed timed(20);
  timed.timings.points[0].samples[7] *= 3;
  timed.timings.failures[1] = 2;
  timed.timings.left_processes[1] = true;
  const auto has = [&](const Record& record, const char* id) {
    return std::ranges::any_of(record.warnings, [&](const Warning& w) { return w.id == id; });
  };
  const Record record = timed.record();
  EXPECT_TRUE(has(record, "outliers"));
  EXPECT_NE(to_json(record).dump().find("1 of 20 runs is an outlier;"), std::string::npos);
  EXPECT_TRUE(has(record, "failures"));
  EXPECT_TRUE(has(record, "left_processes"));
  EXPECT_FALSE(has(record, "short"));
  EXPECT_FALSE(has(Timed(20).record(), "outliers"));
  for (double& sample : timed.timings.points[1].samples) sample *= 1e-3;
  EXPECT_TRUE(has(timed.record(), "short"));
  EXPECT_TRUE(has(timed.record({.command_line = "", .shell_seconds = 1e-4}), "shell"));
}

TEST(TimeExport, IsJsonThatHyperfinesScriptsRead) {
  const Timed timed(20);
  const Json all = Json::parse(export_json(timed.contenders, timed.timings));
  ASSERT_EQ(all["results"].size(), 2u);
  const Json& one = all["results"][0];
  for (const char* key :
       {"command", "mean", "stddev", "median", "user", "system", "min", "max", "times"})
    EXPECT_TRUE(one.contains(key)) << key;
  EXPECT_EQ(one["command"], "sort, \"a\"");
  EXPECT_EQ(one["times"].size(), 20u);
  EXPECT_EQ(one["exit_codes"][0], 0);
  EXPECT_EQ(one["parameters"]["threads"], "1");
  EXPECT_TRUE(one["memory_usage_byte"][0].is_null());
  EXPECT_NEAR(all["results"][1]["ratio"].get<double>(), 2, 0.1);
}

TEST(TimeExport, AsCsvHasARowForEachCommand) {
  const Timed timed(20);
  const std::string csv = export_csv(timed.contenders, timed.timings);
  const std::size_t end = csv.find('\n'), second = csv.find('\n', end + 1);
  const std::string head = csv.substr(0, end), row = csv.substr(end + 1, second - end - 1);
  EXPECT_TRUE(head.starts_with(
      "command,mean,stddev,median,user,system,min,max,parameter_threads,median_interval_low"));
  EXPECT_TRUE(row.starts_with("\"sort, \"\"a\"\"\",0.1")) << row;
  EXPECT_EQ(columns_of(head), columns_of(row));
  EXPECT_EQ(std::ranges::count(csv, '\n'), 3);
}

TEST(TimeExport, AsMarkdownKeepsItsColumns) {
  const Timed timed(20);
  const std::string table = export_table(timed.contenders, timed.timings, Markup::markdown);
  EXPECT_NE(table.find("| `b \\| c` | 20"), std::string::npos) << table;
}

TEST(TimeExport, AsAsciiDocAndOrgModeHasTheSameRows) {
  const Timed timed(20);
  std::string asciidoc = export_table(timed.contenders, timed.timings, Markup::asciidoc);
  EXPECT_TRUE(
      asciidoc.starts_with("[cols=\"<,>,>,>,>\",options=\"header\"]\n|===\n"
                           "| Command | Median | Min | Max | Ratio\n| `sort, \"a\"` | "))
      << asciidoc;
  EXPECT_NE(asciidoc.find("\n| `b \\| c` | "), std::string::npos) << asciidoc;
  EXPECT_TRUE(asciidoc.ends_with("\n|===\n"));
  const std::string org = export_table(timed.contenders, timed.timings, Markup::orgmode);
  EXPECT_TRUE(org.starts_with("| Command | Median | Min | Max | Ratio |\n|---+---+---+---+---|\n"))
      << org;
  EXPECT_NE(org.find("\n| =b \\vert{} c= | 20"), std::string::npos) << org;
}

TEST(TimeRecord, ShowsTheFastestFirstIfAskedAndKeepsItsReference) {
  Timed timed(20, 0.05);
  const auto first_row = [&] {
    return export_table(timed.contenders, timed.timings, Markup::markdown).find("\n| `sort");
  };
  const std::size_t before = first_row();
  sort_by_time(timed.timings);
  EXPECT_GT(first_row(), before);
  const Record record = timed.record();
  EXPECT_EQ(std::get<Rows>(record.views[0].content).rows[0][0].text, "b | c");
  EXPECT_TRUE(record.sentences[0].starts_with("'b | c' takes 0.5")) << record.sentences[0];
  const Json all = Json::parse(export_json(timed.contenders, timed.timings));
  EXPECT_EQ(all["results"][1]["command"], "sort, \"a\"");
  EXPECT_EQ(all["results"][1]["ratio"], 1);
}

TEST(TimeRecord, HasThePeakOfTheWarmUpWhereNoneElseIsKnown) {
  Timed timed(3);
  timed.timings.warm_peak_bytes[1] = 1e6;
  const Record record = timed.record();
  const Result* peak = record.find("time.b_|_c.threads2.peak_memory");
  ASSERT_NE(peak, nullptr);
  EXPECT_EQ(*peak->value, 1e6);
  for (double& seen : timed.timings.points[1].beside["peak_bytes"]) seen = 2e6;
  EXPECT_EQ(*timed.record().find("time.b_|_c.threads2.peak_memory")->value, 2e6);
}

}  // namespace
}  // namespace tabane::lab
