#include "tabane/tools/simulate/from_survey.h"

#include <gtest/gtest.h>

#include "tabane/comm/machine.h"
#include "tabane/core/error.h"
#include "tabane/core/text_of_error_test.h"

namespace tabane::simulate {
namespace {

// Of four cores: a message of 8 bytes takes 2 us, a byte 1 ns; a sum of 4 ranks 6 us.
lab::Record survey() {
  lab::Record record{.kind = lab::Kind::survey, .started = "today"};
  record.machine = {{"cores", 4}, {"cpu_model", "Mill"}};
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
  add("peak.fma.machine", 80e9);
  add("memory.bandwidth.triad.l2.machine", 400e9);
  add("memory.bandwidth.triad.dram.machine", 40e9);
  return record;
}

TEST(FromSurvey, GivesTheMachineThatWasMeasured) {
  using comm::sim::Machine;
  const Machine machine = Machine::parse(machine_from(survey()), "text");
  EXPECT_EQ(machine.name, "Mill");
  EXPECT_EQ(machine.ranks(), 4);
  // Half a round trip of 1000 bytes: 2 us and 1000 ns.
  EXPECT_DOUBLE_EQ(machine.send_latency.at({1000}) + machine.receive_copy.at({1000}), 3);
  EXPECT_DOUBLE_EQ(machine.send_occupancy.at({1000}), 2);
  EXPECT_DOUBLE_EQ(machine.barrier.at({0, 4}), 4);
  EXPECT_DOUBLE_EQ(machine.sum.at({8, 2}), 3);
  EXPECT_DOUBLE_EQ(machine.broadcast_latency.at({1000, 4}), 11);
  const auto compute = [&](const char* kind) {
    return machine.compute.find(kind)->second.at({1000, 4, 0, 1000});
  };
  EXPECT_DOUBLE_EQ(compute(""), 0.5);          // at 2 GHz
  EXPECT_DOUBLE_EQ(compute("product"), 0.05);  // at 20 GFLOP/s
  EXPECT_DOUBLE_EQ(compute("column"), 0.01);   // at 100 GB/s
  EXPECT_DOUBLE_EQ(compute("stencil"), 0.1);   // at 10 GB/s
}

// As on processors that do not tell it.
TEST(FromSurvey, NeedsNoModel) {
  lab::Record record = survey();
  record.machine["cpu_model"] = nullptr;
  EXPECT_EQ(comm::sim::Machine::parse(machine_from(record), "text").name, "this machine");
}

TEST(FromSurvey, NamesWhatIsMissing) {
  lab::Record record = survey();
  record.results[2].value.reset();
  record.results.erase(record.results.begin());
  EXPECT_EQ(core::text_of_error<core::UsageError>([&] { machine_from(record); }),
            "--from: the survey lacks comm.latency, comm.barrier: take one with all probes, by "
            "'tabane survey'");
  record.kind = lab::Kind::study;
  EXPECT_THROW(machine_from(record), core::UsageError);
}

}  // namespace
}  // namespace tabane::simulate
