#include "tabane/studies/ha8000/ha8000.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include "tabane/lab/record/published.h"
#include "tabane/lab/study/views_test.h"
#include "tabane/studies/ha8000/chains.h"

namespace tabane::lab::ha8000 {
namespace {

TEST(Ha8000Accumulators, AreLatencyTimesThroughput) {
  EXPECT_EQ(predicted_accumulators(4, 1), 4);
  EXPECT_EQ(predicted_accumulators(4.02, 2.0), 8);  // measured, so a little off
  EXPECT_EQ(predicted_accumulators(4, 1.5), 6);
  EXPECT_EQ(predicted_accumulators(3, 0.75), 3);
  EXPECT_EQ(predicted_accumulators(0.5, 0.1), 1);
}

TEST(Ha8000Accumulators, AreEnoughFromTheFirstThatIsNearlyTheFastest) {
  EXPECT_EQ(sufficient_accumulators(std::vector<double>{1, 2, 3, 3.95, 4, 3.9}), 4);
  EXPECT_EQ(sufficient_accumulators(std::vector<double>{1, 2, 3, 3.8, 4}), 5);
  EXPECT_EQ(sufficient_accumulators(std::vector<double>{4, 2}), 1);
}

TEST(Ha8000Chains, AreThreeProgramsWithOneResult) {
  using Chain = double (*)(std::uint64_t, double);
  const std::vector<Chain> adds = {add_chain<0>, add_chain<1>, add_chain<2>};
  const std::vector<Chain> products = {multiply_chain<0>, multiply_chain<1>, multiply_chain<2>};
  for (const auto& chains : {adds, products}) {
    for (std::size_t i = 0; i < chains.size(); ++i) {
      const Chain one = chains[i], next = chains[(i + 1) % chains.size()];
      EXPECT_NE(
          std::memcmp(reinterpret_cast<const void*>(one), reinterpret_cast<const void*>(next), 48),
          0)
          << i;
      EXPECT_EQ(one(3, 1.0), adds == chains ? 0x1p30 : 1.0);
    }
  }
  EXPECT_EQ(multiply_chain<2>(0, 3.0), 3.0);
}

// What the survey finds on two nodes of four CPUs, and the rest: a chain takes 4 cycles a step.
Record shown() {
  const auto topology = core::Topology::synthetic("pack:2 numa:1 core:4 pu:1");
  Record record;
  record.name = "ha8000";
  for (const auto& [name, value] : {std::pair("latency.add", 4.0),
                                    {"peak.fma.core", 56e9},
                                    {"memory.bandwidth.read.l1.core", 224e9}}) {
    Result result;
    result.name = name;
    result.value = value;
    record.results.push_back(result);
  }
  Rows ladder = *find_content<Rows>(published("ha8000"), "ladder");
  ladder.columns.insert(ladder.columns.end() - 1, "shipped");
  ladder.columns.back() = "limit";
  for (auto& row : ladder.rows) row.insert(row.end() - 1, Entry(25e9, "FLOP/s"));
  record.views.push_back({.name = "ladder", .content = ladder});
  const std::vector<std::string> nodes = {"node 0", "node 1"};
  for (const char* pass : {"first", "second"})
    record.views.push_back(
        {.name = std::string("numa.bandwidth.") + pass,
         .content = Matrix{
             .unit = "B/s", .rows = nodes, .columns = nodes, .values = {{9e9, 6e9}, {6e9, 9e9}}}});
  Measured measured{.cycles = {{90}, {50}, {40}, {91}, {51}, {40}}};
  measured.sweep = {.adders = 28e9, .cycles = 3.5e9};
  for (int k = 1; k <= 16; ++k) measured.sweep.rates.push_back(k < 8 ? k * 3.4e9 : 27e9);
  for (int cpu = 0; cpu < 8; ++cpu)
    measured.cpus.push_back({.runs_on = cpu == 5 ? 4 : cpu,
                             .rate = 3.5e9 + 1e7 * cpu,
                             .tick_rate = 2.4e9,
                             .skew = core::TickSkew{12.0 * cpu, 80}});
  add_views(record, topology, &measured);
  return record;
}

TEST(Ha8000Views, ShowWhatWasMeasuredNextToTheGuide) {
  const Record record = shown();
  keep_page(record);
  EXPECT_EQ(missing_views("ha8000", record, {{"more than one NUMA node", true}}), Names());
  EXPECT_EQ(row_of(view_of(record, "1. Clock-level timing"), 1),
            (Names{"-O1", "50.0 cycles", "51.0 cycles", "50.0 cycles", "51.0 cycles", "130 cycles",
                   "129 cycles"}));
  EXPECT_EQ(row_of(view_of(record, "2. Running"), 5)[1], "4");
  EXPECT_NE(view_of(record, "2. Running").note.find("1 of 8 CPUs did not run"), std::string::npos);
  EXPECT_EQ(row_of(view_of(record, "3. Memory in a chosen place: writing, this machine"), 0)[2],
            "6.00 GB/s");
}

// A table and the chart of the same figures do not say the same twice.
TEST(Ha8000Views, SayNothingTwice) {
  std::set<std::string> notes;
  for (const View& view : shown().views)
    EXPECT_TRUE(view.note.empty() || notes.insert(view.note).second) << view.note;
}

}  // namespace
}  // namespace tabane::lab::ha8000
