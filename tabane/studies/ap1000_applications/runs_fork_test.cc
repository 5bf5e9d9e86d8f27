#include "tabane/studies/ap1000_applications/runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tabane/comm/launch.h"

namespace tabane::lab::ap1000_applications {
namespace {

// What a mechanism changes: with it, these calls are made by other means.
struct Switch {
  const char* name;
  bool (*is_on)(const MechanismSet& set);
  std::vector<std::string> calls;
  std::vector<std::string> users;  // applications that call them on 2 x 2 ranks
};
const std::vector<Switch>& switches() {
  static const std::vector<Switch> all{
      {"messages",
       [](const MechanismSet& set) { return set.messages; },
       {"send", "recv", "isend", "irecv", "wait"},
       {"linpack", "scg", "slalom"}},
      {"broadcast",
       [](const MechanismSet& set) { return set.collectives.broadcast; },
       {"broadcast"},
       {"linpack", "scg", "slalom"}},
      {"global",
       [](const MechanismSet& set) { return set.collectives.global; },
       {"reduce", "all_reduce"},
       {"linpack", "scg", "slalom"}},
      {"gather",
       [](const MechanismSet& set) { return set.collectives.gather; },
       {"gather", "gather_varying", "scatter_varying", "all_gather", "all_gather_varying"},
       {"linpack", "slalom"}},
      {"barrier",
       [](const MechanismSet& set) { return set.collectives.barrier; },
       {"barrier"},
       {"linpack", "slalom"}},
      {"look-ahead",
       [](const MechanismSet& set) { return set.look_ahead; },
       {"ibroadcast"},
       {"linpack"}}};
  return all;
}

// "broadcast by flags", of these calls.
std::set<std::string> means_of(const Outcome& outcome, const std::vector<std::string>& calls) {
  std::set<std::string> means;
  for (const Calls& one : outcome.calls) {
    if (std::ranges::find(calls, one.call) != calls.end())
      means.insert(one.call + " by " + one.how);
  }
  return means;
}

double calls_of(const Outcome& outcome, const std::string& call) {
  double calls = 0;
  for (const Calls& one : outcome.calls) calls += one.call == call ? one.calls : 0;
  return calls;
}

// Two sets of which one has a mechanism that the application uses and the other one has not make
// different calls; those of all other mechanisms are the same.
void expect_that_sets_differ(Runner& runner, int number, int n) {
  const Application& application = applications()[static_cast<std::size_t>(number)];
  SCOPED_TRACE(application.name);
  std::map<std::string, Outcome> outcomes;
  for (std::size_t set = 0; set < application.sets.size(); ++set) {
    outcomes[application.sets[set].name] = runner.solve({.application = number,
                                                         .set = static_cast<int>(set),
                                                         .n = n,
                                                         .ranks = 4,
                                                         .grid = {2, 2},
                                                         .counts = true});
  }
  for (const MechanismSet& set : application.sets) {
    const Outcome& with = outcomes[set.name];
    EXPECT_TRUE(with.solution.check.passed()) << set.name;
    if (set.base.empty()) continue;
    const Outcome& without = outcomes[set.base];
    const MechanismSet& base = *std::ranges::find(application.sets, set.base, &MechanismSet::name);
    bool differs = false;
    for (const Switch& one : switches()) {
      const auto a = means_of(without, one.calls), b = means_of(with, one.calls);
      const bool is_used = std::ranges::find(one.users, application.name) != one.users.end();
      if (one.is_on(set) == one.is_on(base)) {
        // A reduction by a tree, and only that, has a broadcast in it.
        if (one.name != std::string("broadcast")) {
          EXPECT_EQ(a, b) << set.name << " " << one.name;
        }
      } else if (is_used) {
        EXPECT_NE(a, b) << set.name << ", which adds " << one.name;
        EXPECT_FALSE(b.empty()) << set.name << " " << one.name;
        differs = true;
      } else {
        EXPECT_TRUE(a.empty() && b.empty()) << application.name << " uses " << one.name;
      }
    }
    EXPECT_TRUE(differs) << set.name << " makes the calls of " << set.base;
  }
}

void expect_that_all_sets_differ(Runner& runner) {
  expect_that_sets_differ(runner, 0, 100);
  expect_that_sets_differ(runner, 1, 20);
  expect_that_sets_differ(runner, 2, 60);
}

// On forked ranks and, under its launcher, on those of MPI.
TEST(CountedCalls, DifferWhereSetsDoInWhatIsUsed) {
  if (comm::detect_transport() != comm::TransportKind::mpi) {
    return expect_that_all_sets_differ(*launching_runner());
  }
  comm::launch({.transport = comm::TransportKind::mpi}, [](comm::Comm& world) {
    EXPECT_EQ(run_on(world, expect_that_all_sets_differ), nullptr);
  });
}

// As the report: two sums an iteration and one before the first, and a halo of two sides each for
// ranks in a grid of 2 x 2.
TEST(CountedCalls, OfScgAreThoseOfItsIterations) {
  if (comm::detect_transport() == comm::TransportKind::mpi)
    GTEST_SKIP() << "one transport is enough";
  const Outcome outcome = launching_runner()->solve(
      {.application = 1, .set = 1, .n = 20, .ranks = 4, .grid = {2, 2}, .counts = true});
  const double sums = calls_of(outcome, "all_reduce");
  EXPECT_EQ(std::fmod(sums, 2), 1);
  EXPECT_EQ(calls_of(outcome, "broadcast"), sums);
  EXPECT_EQ(calls_of(outcome, "isend"), sums - 1);
  EXPECT_EQ(calls_of(outcome, "irecv"), sums - 1);
  double seconds = 0;
  for (const Calls& one : outcome.calls) seconds += one.seconds;
  EXPECT_GT(seconds, 0);
  EXPECT_LT(seconds, outcome.solution.seconds);
}

}  // namespace
}  // namespace tabane::lab::ap1000_applications
