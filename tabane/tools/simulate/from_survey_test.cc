#include "tabane/tools/simulate/from_survey.h"

#include <gtest/gtest.h>

#include "tabane/comm/machine.h"
#include "tabane/core/error.h"
#include "tabane/core/text_of_error_test.h"
#include "tabane/core/topology.h"
#include "tabane/lab/record_head.h"

namespace tabane::simulate {
namespace {

// Of four cores: a message of 8 bytes takes 2 us, a byte 1 ns; a sum of 4 ranks 6 us.
lab::Record survey() {
  lab::Record record{.kind = lab::Kind::survey, .started = "today"};
  record.machine = {{"cores", 4},
                    {"pus", 8},
                    {"cpu_model", "Mill"},
                    {"caches",
                     {{{"level", 2}, {"bytes", 1e6}, {"pus_sharing", 2}},
                      {{"level", 3}, {"bytes", 8e6}, {"pus_sharing", 8}}}}};
  const auto add = [&](const char* name, double value, lab::Json details = lab::Json::object()) {
    lab::Result result{.name = name, .what = "", .unit = ""};
    result.value = value;
    result.details = std::move(details);
    record.results.push_back(std::move(result));
  };
  add("comm.latency", 2e-6);
  add("comm.bandwidth", 1e9);
  add("comm.barrier", 4e-6, {{"ranks", 4}});
  add("comm.all_reduce", 6e-6, {{"ranks", 4}});
  add("comm.broadcast", 10e-6, {{"ranks", 4}});
  add("clock.core_rate", 2e9);
  add("clock.read_overhead", 20);
  add("peak.fma.machine", 80e9);
  add("memory.bandwidth.triad.l3.machine", 300e9);
  add("memory.bandwidth.triad.dram.machine", 40e9);
  add("simd.dot.l1", 50e9);
  return record;
}

using comm::sim::Machine;

double computing(const Machine& machine, const char* kind, double bytes, double operations) {
  return machine.compute.find(kind)->second.at({bytes, 4, 0, operations});
}

TEST(FromSurvey, GivesTheMachineThatWasMeasured) {
  const Machine machine = Machine::parse(machine_from(survey(), {}), "text");
  EXPECT_EQ(machine.name, "Mill");
  EXPECT_EQ(machine.ranks(), 4);
  // Half a round trip of 1000 bytes: 2 us and 1000 ns.
  EXPECT_DOUBLE_EQ(machine.send_latency.at({1000}) + machine.receive_copy.at({1000}), 3);
  EXPECT_DOUBLE_EQ(machine.send_occupancy.at({1000}), 2);
  EXPECT_DOUBLE_EQ(machine.barrier.at({0, 4}), 4);
  EXPECT_DOUBLE_EQ(machine.sum.at({8, 2}), 3);
  EXPECT_DOUBLE_EQ(machine.broadcast_latency.at({1000, 4}), 11);
  EXPECT_DOUBLE_EQ(machine.clock.at({}), 0.02);
  EXPECT_DOUBLE_EQ(computing(machine, "", 0, 1000), 0.5);          // at 2 GHz
  EXPECT_DOUBLE_EQ(computing(machine, "product", 0, 1000), 0.05);  // at 20 GFLOP/s
  EXPECT_DOUBLE_EQ(computing(machine, "coupling", 0, 1000), 0.2);  // at a quarter of that
}

// A core has 2 MB of the last cache, at 75 GB/s for three of four bytes that it moves, and 10 GB/s
// of the memory.
TEST(FromSurvey, PassesTakeWhatTheyHaveToFetch) {
  const Machine machine = Machine::parse(machine_from(survey(), {}), "text");
  EXPECT_NEAR(computing(machine, "column", 1e6, 0), 10, 1e-9);
  EXPECT_NEAR(computing(machine, "column", 4e6, 0), 20 + 200, 1e-9);
  EXPECT_NEAR(computing(machine, "stencil", 7e6, 0), 700 - 210, 1e-9);  // 6 MB are new to it
  EXPECT_NEAR(computing(machine, "stencil", 1e6, 1e6), 20, 1e-9);       // at 50 GFLOP/s
}

// Some systems do not tell the size of a cache, or its level.
TEST(FromSurvey, SkipsCachesOfWhichItKnowsTooLittle) {
  lab::Record record = survey();
  const std::string text = machine_from(record, {});
  for (const char* cache : {R"({"level": 4, "bytes": 0})", R"({"level": 4, "bytes": null})",
                            R"({"level": null, "bytes": 9e9, "pus_sharing": 1})"}) {
    record.machine["caches"].push_back(lab::Json::parse(cache));
    EXPECT_EQ(machine_from(record, {}), text) << cache;
  }
}

// At 8 MB one core gets 40 GB/s, which is 200 us, between 100 GB/s and 20 GB/s: 3 MB of the cache's
// 8 come from memory.
TEST(FromSurvey, TakesTheCacheThatKeepsWhatIsReadAgain) {
  lab::Record record = survey();
  lab::Curves curves;
  curves.series.push_back(
      {.name = "triad", .x = {1e6, 4e6, 8e6, 64e6}, .y = {400e9, 100e9, 40e9, 20e9}});
  record.views.push_back({.name = "memory.bandwidth", .title = "", .content = curves});
  const Machine machine = Machine::parse(machine_from(record, {}), "text");
  // 0.625 of 2 MB are kept.
  EXPECT_NEAR(computing(machine, "column", 4e6, 0), 12.5 + 275, 1e-9);
}

TEST(FromSurvey, PrefersWhatWasMeasured) {
  const Machine machine = Machine::parse(machine_from(survey(), {{"product", "2 op"}}), "text");
  EXPECT_DOUBLE_EQ(computing(machine, "product", 0, 1000), 2000);
}

TEST(FromSurvey, KnowsItsMachine) {
  lab::Record record{.kind = lab::Kind::survey};
  EXPECT_FALSE(is_of_this_machine(record));
  record.machine = lab::describe_machine(core::Topology::detect());
  EXPECT_TRUE(is_of_this_machine(record));
  record.machine["name"] = "another";
  EXPECT_FALSE(is_of_this_machine(record));
}

TEST(Costs, GiveBothTimes) {
  const Costs costs = costs_of({4, 1, 11}, {2, 2, 10});  // 2 each, and 3 each
  EXPECT_DOUBLE_EQ(costs.first, 2);
  EXPECT_DOUBLE_EQ(costs.second, 3);
  EXPECT_DOUBLE_EQ(costs_of({4, 1, 4}, {2, 2, 1}).second, 0);  // 1.17 and -0.67
  EXPECT_DOUBLE_EQ(costs_of({4, 1, 4}, {2, 2, 1}).first, 1);
  EXPECT_DOUBLE_EQ(costs_of({4, 1, 1}, {2, 2, 4}).first, 0);  // -0.33 and 2.33
  EXPECT_DOUBLE_EQ(costs_of({4, 1, 1}, {2, 2, 4}).second, 1);
}

// As on processors that do not tell it.
TEST(FromSurvey, NeedsNoModel) {
  lab::Record record = survey();
  record.machine["cpu_model"] = nullptr;
  EXPECT_EQ(comm::sim::Machine::parse(machine_from(record, {}), "text").name, "this machine");
}

TEST(FromSurvey, NamesWhatIsMissing) {
  lab::Record record = survey();
  record.results[2].value.reset();
  record.results.erase(record.results.begin());
  EXPECT_EQ(core::text_of_error<core::UsageError>([&] { machine_from(record, {}); }),
            "--from: the survey lacks comm.latency, comm.barrier: take one with all probes, by "
            "'tabane survey'");
  std::erase_if(record.results, [](const lab::Result& result) {
    return result.name == "memory.bandwidth.triad.dram.machine";
  });
  const std::string twice =
      core::text_of_error<core::UsageError>([&] { machine_from(record, {}); });
  EXPECT_EQ(twice.find("dram.machine"), twice.rfind("dram.machine")) << twice;
  EXPECT_NE(twice.find("dram.machine"), twice.npos);
  record.kind = lab::Kind::study;
  EXPECT_THROW(machine_from(record, {}), core::UsageError);
}

}  // namespace
}  // namespace tabane::simulate
