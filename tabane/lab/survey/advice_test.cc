#include <gtest/gtest.h>

#include <algorithm>

#include "tabane/lab/environment.h"
#include "tabane/lab/record/has_test.h"
#include "tabane/lab/survey/survey.h"

namespace tabane::lab {
namespace {

Result figure(std::string name, double value, std::string unit) {
  Result result;
  result.name = std::move(name);
  result.unit = std::move(unit);
  result.better = result.unit == "s" || result.unit == "ns" ? Better::lower : Better::higher;
  result.value = value;
  return result;
}

Record full_survey() {
  Record record;
  record.results = {figure("peak.fma.machine", 80e9, "FLOP/s"),
                    figure("memory.bandwidth.triad.dram.machine", 20e9, "B/s"),
                    figure("memory.latency.l1", 1.25, "ns"),
                    figure("memory.latency.dram", 100, "ns"),
                    figure("peak.fma.core", 45, "FLOP/s"),
                    figure("memory.bandwidth.read.l1.machine", 10, "B/s"),
                    figure("page_fault.rate", 1e6, "pages/s"),
                    figure("fork.cost.per_gib", 0.008, "s/GiB")};
  record.results[4].limit = Limit{50, "peak"};
  record.results[5].limit = Limit{50, "peak"};
  record.results[6].details[detail::kPageBytes] = 4096;
  View cores;
  cores.name = "memory.bandwidth.cores";
  Curves curves;
  curves.series.resize(1);
  curves.series[0].x = {1, 2, 4, 8};
  curves.series[0].y = {8e9, 15e9, 19e9, 20e9};
  cores.content = curves;
  record.views = {cores};
  return record;
}

TEST(Sentences, AreThreeAndSayThatNothingWasMeasured) {
  const auto said = sentences(Record{});
  ASSERT_EQ(said.size(), 3U);
  for (const std::string& sentence : said) EXPECT_TRUE(has(sentence, "not judged")) << sentence;
}

TEST(Sentences, SayWithNumbersWhatTheMachineIsGoodAt) {
  const std::string good = sentences(full_survey())[0];
  EXPECT_TRUE(has(good, "80.0 GFLOP/s")) << good;
  EXPECT_TRUE(has(good, "20.0 GB/s")) << good;
  EXPECT_TRUE(has(good, "1 of 2 figures with a known limit, tabane's own left out, reaches 80 %"))
      << good;
  EXPECT_FALSE(has(good, "read.l1")) << good;
}

// What tabane's own loops and messages leave free says nothing about the machine.
TEST(Sentences, SayNothingAboutTabaneItself) {
  Record record = full_survey();
  record.results[4].name = "simd.dot.l1";
  record.results[5].name = "comm.broadcast";
  record.results.push_back(figure("comm.latency", 1e-7, "s"));
  const auto said = sentences(record);
  for (const char* own : {"simd.", "comm.", "message", "known limit"})
    EXPECT_FALSE(has(said[0] + said[1], own)) << own;
}

TEST(Sentences, SayWithNumbersWhatLimitsIt) {
  const std::string limited = sentences(full_survey())[1];
  EXPECT_TRUE(has(limited, "less than 4 floating-point operations per byte")) << limited;
  EXPECT_TRUE(has(limited, "4 of 8 cores already saturate")) << limited;
  EXPECT_TRUE(has(limited, "100 ns, 80 times")) << limited;
  EXPECT_TRUE(has(limited, "memory.bandwidth.read.l1.machine reaches only 20 % of its limit"))
      << limited;
}

TEST(Sentences, TellOfPagesAndForksWhereOnlyThoseWereMeasured) {
  Record record = full_survey();
  record.views.clear();
  record.results.erase(record.results.begin(), record.results.begin() + 6);
  const std::string limited = sentences(record)[1];
  EXPECT_TRUE(has(limited, "fresh memory at 4.10 GB/s")) << limited;
  EXPECT_TRUE(has(limited, "a fork takes 8.00 ms per GiB held")) << limited;
}

TEST(Sentences, HoldWithAnySingleResultMissing) {
  const Record full = full_survey();
  for (std::size_t i = 0; i < full.results.size(); ++i) {
    Record record = full;
    record.results.erase(record.results.begin() + static_cast<long>(i));
    EXPECT_EQ(sentences(record).size(), 3U);
    record = full;
    record.results[i].value.reset();
    const auto said = sentences(record);
    ASSERT_EQ(said.size(), 3U);
    for (const std::string& sentence : said) {
      EXPECT_FALSE(has(sentence, "nan") || has(sentence, "inf")) << sentence;
    }
  }
}

TEST(Sentences, DoNotCallMemorySaturatedThatStillGrows) {
  Record record = full_survey();
  std::get<Curves>(record.views[0].content).series[0].y = {1e9, 2e9, 4e9, 8e9};
  EXPECT_FALSE(has(sentences(record)[1], "saturate"));
}

TEST(Sentences, SayThatNothingLooksWrongOrWhatDoes) {
  Record record = full_survey();
  EXPECT_EQ(sentences(record)[2], "Nothing looks wrong.");
  for (const char* seen : {"one", "two", "three", "four", "five"}) {
    record.warnings.push_back({"id", seen + std::string("; x: y"), "m", "d"});
  }
  EXPECT_EQ(sentences(record)[2], "Looks wrong: one; two; and 3 more, see the warnings.");
}

constexpr double kMi = 1024.0 * 1024, kGi = 1024 * kMi;

void add(Record& record, std::string name, double value, Json details = Json::object()) {
  Result& result = record.results.emplace_back();
  result.name = std::move(name);
  result.value = value;
  result.interval = core::Interval{value, value};
  result.details = std::move(details);
}

void add(Record& record, std::string name, std::vector<Curve> series) {
  record.views.push_back(
      {.name = std::move(name),
       .title = "",
       .content = Curves{{"x", "", false}, {"y", "", false}, std::move(series)}});
}

std::vector<std::string> advice_ids(const Record& record) {
  std::vector<std::string> found;
  for (const Advice& advice : advise(record)) found.push_back(advice.id);
  return found;
}
using Ids = std::vector<std::string>;

// Two virtual cores of a shared server: 32 MiB of cache stated, 8 MiB there; one core fills the
// memory bus; forks of 4 GiB take 400 ms in 4 KiB pages and 3.6 ms in huge ones.
Record shared_server() {
  Record record;
  record.complete = true;
  record.machine["caches"] = {{{"level", 2}, {"bytes", 1048576}},
                              {{"level", 3}, {"bytes", 32 * kMi}}};
  add(record, "memory.latency.l2", 3.5);
  add(record, "memory.latency.dram", 120);
  add(record, "memory.latency.loaded", 240, {{"alone_ns", 118}});
  add(record, "core_to_core.latency", 60,
      {{"min_ns", 60}, {"max_ns", 60}, {"best_pair", {0, 1}}, {"worst_pair", {0, 1}}});
  const std::vector<double> sizes = {0.5 * kMi, 4 * kMi, 8 * kMi, 16 * kMi, 1 * kGi};
  add(record, "memory.latency",
      {{"4 KiB pages", sizes, {4, 13, 18, 80, 135}},
       {"huge pages", sizes, {3.5, 12, 15, 75, 120}}});
  add(record, "memory.bandwidth.cores", {{"read", {1, 2}, {41e9, 42e9}}});
  add(record, "fork.cost",
      {{"4 KiB pages", {kGi, 4 * kGi}, {0.1, 0.4}},
       {"huge pages", {kGi, 4 * kGi}, {1e-3, 3.6e-3}}});
  return record;
}

TEST(Advise, TellsTheUserOfASharedServerWhatHelpsMost) {
  const Record record = shared_server();
  ASSERT_EQ(advice_ids(record), (Ids{"huge_pages_fork", "fewer_threads", "smaller_cache"}));
  const auto advice = advise(record);
  EXPECT_EQ(advice[0].gain, "a fork with 4 GiB held takes 3.60 ms instead of 400 ms");
  EXPECT_EQ(advice[1].change, "Use 1 thread for work that only reads memory");
  EXPECT_NE(advice[1].gain.find("a load takes 240 ns instead of 118 ns"), std::string::npos);
  EXPECT_EQ(advice[1].command, "tabane run -t 1 -- COMMAND");
  EXPECT_NE(advice[2].change.find("8 MiB of shared cache, not for the 32 MiB"), std::string::npos)
      << advice[2].change;
  EXPECT_TRUE(can_advise(record));
}

// Two sockets with 64 cores each, bare: reading saturates with 40 of 128 cores, the sockets are far
// from each other, all of the cache is there, huge pages are always given.
Record two_sockets() {
  Record record;
  record.complete = true;
  record.machine["caches"] = {{{"level", 3}, {"bytes", 256 * kMi}}};
  add(record, "memory.latency.l2", 4);
  add(record, "memory.latency.dram", 110);
  add(record, "core_to_core.latency", 90,
      {{"min_ns", 22}, {"max_ns", 190}, {"best_pair", {0, 1}}, {"worst_pair", {3, 127}}});
  const std::vector<double> sizes = {1 * kMi, 128 * kMi, 1 * kGi};
  add(record, "memory.latency",
      {{"4 KiB pages", sizes, {4, 14, 112}}, {"huge pages", sizes, {4, 13, 110}}});
  add(record, "memory.bandwidth.cores",
      {{"read", {1, 20, 40, 80, 128}, {12e9, 210e9, 385e9, 400e9, 398e9}}});
  add(record, "fork.cost", {{"4 KiB pages", {kGi}, {6e-4}}, {"huge pages", {kGi}, {3e-4}}});
  return record;
}

TEST(Advise, PutsTalkersTogetherAndSparesThreadsOnTwoSockets) {
  const auto advice = advise(two_sockets());
  ASSERT_EQ(advice.size(), 2u);
  EXPECT_EQ(advice[0].id, "near_pairs");
  EXPECT_EQ(advice[0].gain,
            "a cache line goes between CPUs 0,1 in 22.0 ns, between CPUs 3,127 in 190 ns");
  EXPECT_EQ(advice[0].command, "tabane run -c 0,1 -- COMMAND");
  EXPECT_EQ(advice[1].change, "Use 40 threads for work that only reads memory");
}

// A desktop whose cores all count, with nothing odd about it.
TEST(Advise, FindsNothingToChangeOnASoundDesktop) {
  Record record;
  record.complete = true;
  record.machine["caches"] = {{{"level", 3}, {"bytes", 32 * kMi}}};
  add(record, "memory.latency.l2", 3);
  add(record, "memory.latency.dram", 80);
  add(record, "core_to_core.latency", 30,
      {{"min_ns", 25}, {"max_ns", 32}, {"best_pair", {0, 1}}, {"worst_pair", {0, 7}}});
  const std::vector<double> sizes = {1 * kMi, 16 * kMi, 128 * kMi};
  add(record, "memory.latency",
      {{"4 KiB pages", sizes, {3.2, 11, 90}}, {"huge pages", sizes, {3, 10, 80}}});
  add(record, "memory.bandwidth.cores", {{"read", {1, 2, 4}, {12e9, 24e9, 47e9}}});
  add(record, "fork.cost", {{"4 KiB pages", {kGi}, {8e-4}}, {"huge pages", {kGi}, {2e-4}}});
  EXPECT_EQ(advice_ids(record), Ids{});
  EXPECT_TRUE(can_advise(record));
}

TEST(Advise, SaysNothingAboutWhatWasNotMeasured) {
  EXPECT_TRUE(advise(Record{}).empty());
  EXPECT_FALSE(can_advise(Record{}));
}

TEST(Advise, DoesNotBuildOnFiguresThatOthersContradict) {
  Record record = shared_server();
  add(record, "memory.bandwidth.read.dram.core", 54e9);
  add(record, "memory.bandwidth.read.dram.machine", 20e9);
  const Ids found = advice_ids(record);
  EXPECT_EQ(std::ranges::count(found, "fewer_threads"), 0);
}

}  // namespace

}  // namespace tabane::lab
