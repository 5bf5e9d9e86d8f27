#include <gtest/gtest.h>

#include "tabane/lab/environment.h"
#include "tabane/lab/record/has_test.h"

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
                    figure("simd.dot.l1", 45, "FLOP/s"),
                    figure("simd.sum.l1", 10, "FLOP/s"),
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
  EXPECT_TRUE(has(good, "1 of 2 figures with a known limit reach 80 %")) << good;
  EXPECT_FALSE(has(good, "simd.sum.l1")) << good;
}

TEST(Sentences, SayWithNumbersWhatLimitsIt) {
  const std::string limited = sentences(full_survey())[1];
  EXPECT_TRUE(has(limited, "less than 4 floating-point operations per byte")) << limited;
  EXPECT_TRUE(has(limited, "4 of 8 cores already saturate")) << limited;
  EXPECT_TRUE(has(limited, "100 ns, 80 times")) << limited;
  EXPECT_TRUE(has(limited, "simd.sum.l1 reaches only 20 % of its limit")) << limited;
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
    record.warnings.push_back({"id", seen, "m", "d"});
  }
  EXPECT_EQ(sentences(record)[2], "Looks wrong: one; two; and 3 more, see the warnings.");
}

}  // namespace
}  // namespace tabane::lab
