#include "tabane/tools/explain/explain_record.h"

#include <gtest/gtest.h>

#include "tabane/lab/study/views_test.h"
#include "tabane/tools/explain/scripted_commands_test.h"

namespace tabane::lab::explain {
namespace {

Evidence a_team() {
  Evidence evidence =
      Script({.shares = {{Kind::bandwidth, 0.5}}, .threads = 8, .serial = 0.05}, {.noise = 0.01}, 7)
          .evidence();
  evidence.trials.push_back({.resource = Resource::remote, .untried = "there is one NUMA node"});
  evidence.notes = {"Other programs keep 0.3 PUs busy."};
  for (int i = 0; i < 6; ++i)
    evidence.runs.push_back(
        {i % 2 == 0 ? "undisturbed" : name_of(Resource::bandwidth), i % 2 == 0 ? 1.0 : 1.6});
  return evidence;
}

Record record_of(const Evidence& evidence) {
  return explain_record(core::Topology::synthetic("pu:8"), evidence, conclude(evidence),
                        "tabane explain -- ./scripted");
}

TEST(ExplainRecord, HasTheAnswerFirstAndAllViews) {
  const Evidence evidence = a_team();
  const Record record = record_of(evidence);
  EXPECT_EQ(record.sentences.front(), conclude(evidence).sentences.front());
  EXPECT_EQ(record.sentences.back(), "Note: Other programs keep 0.3 PUs busy.");
  for (const char* view : {"explain.slowdowns", "explain.taken", "explain.threads",
                           "explain.over_time", "explain.runs"})
    EXPECT_NE(record.find_view(view), nullptr) << view;
  EXPECT_EQ(text_of(table(record, "How each").rows.back().at(1)),
            "not tried: there is one NUMA node");
  EXPECT_EQ(record.find_view("explain.runs")->content.index(), 1u);
}

TEST(ExplainRecord, HasAFigureForEachLevelAndShare) {
  const Record record = record_of(a_team());
  const Result* half = record.find("explain.slowdown.memory_bandwidth.2");
  ASSERT_NE(half, nullptr);
  EXPECT_EQ(half->samples.size(), 2u);
  EXPECT_NEAR(*half->value, 1.5, 0.06);
  EXPECT_TRUE(half->interval && half->interval->contains(*half->value));
  const Result* share = record.find("explain.share.memory_bandwidth");
  ASSERT_NE(share, nullptr);
  EXPECT_NEAR(*share->value, 0.5, 0.06);
  EXPECT_EQ(share->details.at(detail::kHeldFixed), "the command ./scripted");
  EXPECT_EQ(conclude(a_team()).causes.at(1).kind, Kind::bandwidth);
  EXPECT_EQ(share->details.at("cause"), 2);
  EXPECT_FALSE(record.find("explain.share.memory_latency")->details.contains("cause"));
  std::set<std::string> names;
  for (const Result& result : record.results)
    EXPECT_TRUE(names.insert(result.name).second) << result.name;
}

TEST(ExplainRecord, MarksTheCacheThatIsNotNeeded) {
  const auto marks = [](const Record& record) {
    return std::get<Curves>(record.find_view("explain.taken")->content).marks;
  };
  const Record record = record_of(
      Script({.shares = {{Kind::cache, 0.8}}, .set_bytes = 12 * kMiB}, {.noise = 0}, 1).evidence());
  ASSERT_EQ(marks(record).size(), 2u);
  EXPECT_EQ(marks(record)[1].label, "cache that it does not need");
  EXPECT_TRUE(marks(record)[1].vertical);
  const double needs = *record.find("explain.working_set")->value;
  EXPECT_NEAR(needs, 12 * kMiB, 3 * kMiB);
  EXPECT_NEAR(marks(record)[1].at, 100 * (1 - needs / (32 * kMiB)), 1e-9);
  EXPECT_EQ(marks(record_of(a_team())).size(), 1u);
}

TEST(ExplainRecord, IsWrittenAndReadAgain) {
  const Record record = record_of(a_team());
  const Record again = record_from_json(to_json(record));
  EXPECT_EQ(again.sentences, record.sentences);
  EXPECT_EQ(again.results.size(), record.results.size());
  EXPECT_EQ(again.views.size(), record.views.size());
}

TEST(ExplainRecord, ShowsWhatWasCounted) {
  Evidence evidence = a_team();
  evidence.observed.counts = {{core::events::kInstructions, 4e9}, {core::events::kCycles, 2e9}};
  const Record record = record_of(evidence);
  const Rows& counted = table(record, "An undisturbed run");
  EXPECT_EQ(text_of(counted.rows.back().at(0)), "instructions per cycle");  // misses were not
  EXPECT_EQ(text_of(counted.rows.back().at(1)), "2.00");
}

TEST(ExplainRecord, OfNothingIsARecord) {
  const Record record = record_of({});
  EXPECT_FALSE(record.sentences.empty());
  EXPECT_NO_THROW(record_from_json(to_json(record)));
}

}  // namespace
}  // namespace tabane::lab::explain
