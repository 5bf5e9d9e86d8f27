#include "tabane/lab/study/simulation.h"

#include <gtest/gtest.h>

#include "tabane/comm/machine.h"
#include "tabane/core/error.h"

namespace tabane::lab {
namespace {

using comm::Activity;

// A program that computes 8 s on all ranks together and then, with others, waits 1 s for a message.
comm::SimulatedRun program(const std::string& machine, const std::string& changes) {
  const auto ranks = static_cast<std::size_t>(comm::sim::machine_named(machine, 0).ranks());
  const double computing = (changes == "compute=0.5" ? 4.0 : 8.0) / static_cast<double>(ranks);
  comm::SimulatedRun run{.slice_seconds = 1};
  run.path[Activity::compute] = computing;
  if (ranks > 1) {
    run.path[Activity::wait] = 1;
    run.path_messages = 3;
  }
  run.seconds = run.path.sum();
  comm::Activities first = run.path, second;
  run.ranks.assign(ranks, {first, second});
  return run;
}

Simulation simulation() {
  return {.about = {"simulate", "A program", "AP1000"},
          .what = "a step",
          .machine = "ap1000:2x4",
          .changes = {},
          .run = program};
}

Record simulated(const Simulation& what, const Hooks& hooks = {}) {
  return simulate(core::Topology::detect(), what, hooks);
}

double value(const Record& record, const char* table, std::size_t row, std::size_t column) {
  return find_content<Rows>(record, table)->rows.at(row).at(column).value.value();
}

TEST(Simulation, SaysWhatChangesAreWorth) {
  const Record record = simulated(simulation());
  EXPECT_TRUE(record.complete);
  const Rows& changes = *find_content<Rows>(record, "simulate.table.1");
  ASSERT_EQ(changes.rows.size(), 4);
  EXPECT_EQ(changes.rows[0][0].text, "as it is");
  EXPECT_EQ(changes.rows[3][0].text, "compute=0.5");
  EXPECT_DOUBLE_EQ(value(record, "simulate.table.1", 0, 1), 2);    // 8 / 8 + 1
  EXPECT_DOUBLE_EQ(value(record, "simulate.table.1", 0, 2), 0.5);  // computing
  EXPECT_DOUBLE_EQ(value(record, "simulate.table.1", 0, 3), 4);    // over 8 s
  EXPECT_DOUBLE_EQ(value(record, "simulate.table.1", 3, 1), 1.5);
  EXPECT_DOUBLE_EQ(value(record, "simulate.table.1", 3, 3), 4 / 1.5);  // over 4 s
  EXPECT_DOUBLE_EQ(value(record, "simulate.table.1", 3, 4), 2 / 1.5);
}

TEST(Simulation, FollowsThePathAndScales) {
  const Record record = simulated(simulation());
  EXPECT_DOUBLE_EQ(value(record, "simulate.table.2", 3, 1), 0.5 / 1.5);  // compute
  EXPECT_DOUBLE_EQ(value(record, "simulate.table.2", 3, 5), 1 / 1.5);    // on the way
  EXPECT_DOUBLE_EQ(value(record, "simulate.table.2", 3, 6), 3);
  const Rows& ranks = *find_content<Rows>(record, "simulate.table.3");
  ASSERT_EQ(ranks.rows.size(), 4);
  EXPECT_EQ(ranks.rows[1][1].text, "2x1");
  EXPECT_DOUBLE_EQ(value(record, "simulate.table.3", 1, 3), 8.0 / 5);  // speedup
  EXPECT_DOUBLE_EQ(value(record, "simulate.table.3", 1, 4), 4.0 / 5);  // efficiency
  EXPECT_EQ(find_content<Curves>(record, "simulate.speedup")->series.size(), 4);
  const Matrix& waits = *find_content<Matrix>(record, "simulate.timeline.wait");
  EXPECT_EQ(waits.rows.size(), 8);
  EXPECT_EQ(waits.columns, (std::vector<std::string>{"0 s", "1.00 s"}));
  EXPECT_EQ(waits.values[7][0], 1);
  EXPECT_EQ(waits.values[7][1], 0);
}

TEST(Simulation, TakesChangesThatAreGiven) {
  Simulation own = simulation();
  own.changes = {"hop=2"};
  EXPECT_EQ(find_content<Rows>(simulated(own), "simulate.table.1")->rows.size(), 2);
  own.changes = {"hop=2", "beds=2"};
  own.run = [](const std::string&, const std::string&) -> comm::SimulatedRun {
    throw core::Error("it was run");
  };
  EXPECT_THROW(simulated(own), core::UsageError);
  own = simulation();
  own.quick = true;
  EXPECT_EQ(simulated(own).results.size(), 1);
}

TEST(Simulation, NotesWhatCannotRun) {
  Simulation some = simulation();
  some.run = [](const std::string& machine, const std::string& changes) {
    if (machine == "ap1000:1x1") throw core::UsageError("too large for one rank");
    if (machine == "ap1000:2x1") return comm::SimulatedRun();
    return program(machine, changes);
  };
  const Record record = simulated(some);
  ASSERT_EQ(record.skipped.size(), 8);
  EXPECT_EQ(record.skipped[0].name, "2x1, as it is");
  EXPECT_EQ(record.skipped[0].reason, "it takes no time");
  EXPECT_EQ(record.skipped[4].reason, "too large for one rank");
  // No speedup without one rank.
  EXPECT_TRUE(find_content<Rows>(record, "simulate.table.1")->rows[0][3].none());
  some.run = [](const std::string&, const std::string&) -> comm::SimulatedRun {
    throw core::UsageError("too large");
  };
  EXPECT_THROW(simulated(some), core::UsageError);
}

TEST(Simulation, KeepsWhatIsKnownWhenItIsStopped) {
  int asked = 0;
  Hooks hooks;
  hooks.stop_requested = [&] { return ++asked > 2; };
  const Record record = simulated(simulation(), hooks);
  EXPECT_FALSE(record.complete);
  EXPECT_EQ(record.results.size(), 2);
  hooks.stop_requested = [] { return true; };
  EXPECT_THROW(simulated(simulation(), hooks), Stopped);
  int runs = 0;
  Simulation stopped = simulation();
  stopped.run = [&](const std::string& machine, const std::string& changes) {
    if (++runs == 4) throw Stopped();
    return program(machine, changes);
  };
  EXPECT_EQ(simulated(stopped).results.size(), 3);
}

}  // namespace
}  // namespace tabane::lab
