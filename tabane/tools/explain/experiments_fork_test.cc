#include "tabane/tools/explain/experiments.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "tabane/core/binding.h"
#include "tabane/core/error.h"
#include "tabane/core/memory.h"
#include "tabane/tools/explain/conclude.h"

namespace tabane::lab::explain {
namespace {

// On one PU, where nothing is calibrated.
Evidence gathered(const Request& request, const Hooks& hooks = {}) {
  const core::ScopedBinding binding(core::Topology::detect().pus().front().os_index);
  return gather(request, core::Topology::detect(), hooks);
}

const Trial& trial(const Evidence& evidence, Resource resource) {
  return *std::ranges::find(evidence.trials, resource, &Trial::resource);
}

std::size_t runs_of(const Evidence& evidence, const std::string& changed) {
  const auto runs = std::ranges::count(evidence.runs, changed, &explain::Run::changed);
  return static_cast<std::size_t>(runs);
}

// Ends the experiments in the second of seven rounds.
Evidence gathered_in_one_round(const Request& request) {
  bool stop = false;
  const Hooks hooks{
      .stop_requested = [&] { return stop; },
      .progress = [&](const std::string&, double done, double) { stop = done > 0.22; }};
  return gathered(request, hooks);
}

// Takes a tenth of the time where the allocator is asked for huge pages.
const std::vector<std::string> kHelpedByPages = {
    "sh", "-c", "test -n \"$GLIBC_TUNABLES\" || sleep 0.2; sleep 0.02"};

TEST(Experiments, CompareEachWayWithUndisturbedRuns) {
  if (!core::huge_pages_possible()) GTEST_SKIP() << "the system gives no huge pages on request";
  const Evidence evidence = gathered_in_one_round({.command = kHelpedByPages, .seconds = 600});
  EXPECT_EQ(evidence.machine.pus, 1);
  const Trial& pages = trial(evidence, Resource::huge_pages);
  ASSERT_EQ(pages.levels.size(), 1u) << pages.untried;
  EXPECT_EQ(pages.option, "--own-threads --placement none --huge-pages");
  EXPECT_LT(pages.levels[0].slowdowns.at(0), 1);
  EXPECT_EQ(trial(evidence, Resource::bandwidth).untried,
            "there is one PU: a thief there would take processor time, too");
  for (const Trial& each : evidence.trials)
    EXPECT_EQ(each.levels.empty(), !each.untried.empty()) << static_cast<int>(each.resource);
}

TEST(Experiments, TakeEachWayOnceARound) {
  const Evidence evidence = gathered({.command = {"sleep", "0.02"}, .seconds = 2});
  const std::size_t rounds = trial(evidence, Resource::cpu_time).levels.at(0).slowdowns.size();
  EXPECT_GE(rounds, 1u);
  std::size_t of_ways = 0;
  for (const Trial& each : evidence.trials) {
    for (const Level& level : each.levels) EXPECT_EQ(level.slowdowns.size(), rounds);
    of_ways += each.levels.size() * rounds;
    EXPECT_EQ(runs_of(evidence, name_of(each.resource)), each.levels.size() * rounds);
  }
  const std::size_t undisturbed = evidence.observed.seconds.size();
  EXPECT_GE(undisturbed, rounds);
  EXPECT_EQ(of_ways + undisturbed, evidence.runs.size());
  for (const auto& run : evidence.runs) EXPECT_GE(run.seconds, 0.02);
}

TEST(Experiments, DoNotMeasureWhatPrepares) {
  const Evidence evidence = gathered_in_one_round(
      {.command = {"sh", "-c", "sleep 0.06; :"}, .seconds = 60, .prepare = "timeout 9 sleep 0.03"});
  EXPECT_GE(evidence.observed.moments.size(), 1u);
  for (const ThreadSeen& thread : evidence.observed.threads) EXPECT_NE(thread.name, "timeout");
}

TEST(Experiments, LookAgainAndAgainAtAShortCommand) {
  const Evidence evidence = gathered_in_one_round({.command = {"sleep", "0.02"}, .seconds = 600});
  EXPECT_GE(evidence.observed.moments.size(), 50u);
  EXPECT_TRUE(std::ranges::is_sorted(evidence.observed.moments, {}, &Moment::seconds));
  int looks = 0;
  for (const ThreadSeen& thread : evidence.observed.threads) looks += thread.looks.all();
  EXPECT_GE(looks, 50);
  // "sleep", and what a look before its start may have seen.
  EXPECT_LE(evidence.observed.threads.size(), 3u);
}

TEST(Experiments, KeepWholeRoundsWhenTheyAreStopped) {
  bool stop = false;
  const Hooks late{.stop_requested = [&] { return stop; },
                   .progress = [&](const std::string&, double done, double) { stop = done > 0.5; }};
  const Evidence evidence = gathered({.command = {"sleep", "0.02"}, .seconds = 60}, late);
  EXPECT_FALSE(evidence.complete);
  const std::size_t rounds = trial(evidence, Resource::cpu_time).levels.at(0).slowdowns.size();
  EXPECT_GE(evidence.runs.size(), 2 * rounds);
  for (const auto& run : evidence.runs)
    EXPECT_EQ(runs_of(evidence, run.changed) % rounds, 0u) << run.changed;
  const Hooks at_once{.stop_requested = [] { return true; }};
  EXPECT_THROW(gathered({.command = {"sleep", "0.02"}}, at_once), Stopped);
}

TEST(Experiments, DoNotCountAWayInWhichTheCommandFails) {
  const Evidence evidence =
      gathered_in_one_round({.command = {"sh", "-c", "sleep 0.02; test {threads} -ne 99"},
                             .threads = {98, 99},
                             .seconds = 600});
  const Trial& threads = trial(evidence, Resource::threads);
  const auto works = std::ranges::find(threads.levels, 98, &Level::taken);
  ASSERT_NE(works, threads.levels.end());
  EXPECT_EQ(runs_of(evidence, name_of(Resource::threads)), works->slowdowns.size());
  EXPECT_EQ(std::ranges::count(threads.levels, 99, &Level::taken), 0);
}

TEST(Experiments, CompareNoNumbersOfThreadsWhereAllOthersFail) {
  const int own =
      Subject{.request = {}, .topology = core::Topology::synthetic("pu:1")}.own_threads();
  const Evidence evidence = gathered_in_one_round(
      {.command = {"sh", "-c", "sleep 0.02; test {threads} -eq " + std::to_string(own)},
       .threads = {own + 1},
       .seconds = 600});
  EXPECT_TRUE(trial(evidence, Resource::threads).levels.empty());
  EXPECT_NE(trial(evidence, Resource::threads).untried.find("fails then"), std::string::npos);
}

TEST(Experiments, RunACommandOnceThatTakesMostOfTheTime) {
  const Evidence evidence = gathered({.command = {"sleep", "1.1"}, .seconds = 2.15});
  EXPECT_EQ(evidence.runs.size(), 1u);
  EXPECT_EQ(evidence.observed.seconds.size(), 1u);
  EXPECT_GE(evidence.observed.moments.size(), 1u);
  for (const Trial& each : evidence.trials) EXPECT_NE(each.untried, "");
}

TEST(Experiments, EndTheirFirstRoundWhenTimeIsUp) {
  const std::string name = testing::TempDir() + "slow" + std::to_string(getpid());
  const Hooks hooks{.progress = [&](const std::string& what, double, double) {
    if (what == "runs in turn") std::ofstream(name, std::ios::app);
  }};
  const Evidence evidence =
      gathered({.command = {"sh", "-c",
                            "sleep 0.02; test -e " + name + " && sleep 0.6 && echo >> " + name +
                                "; true {threads}"},
                .threads = {2, 3, 4, 5, 6},
                .seconds = 1},
               hooks);
  std::ifstream file(name);
  const auto slow = std::count(std::istreambuf_iterator<char>(file), {}, '\n');
  std::filesystem::remove(name);
  EXPECT_GE(slow, 1);
  EXPECT_LE(slow, 3);  // of eight and more
  // With those that were watched before, since there was one.
  EXPECT_GE(std::ranges::count_if(evidence.observed.seconds, [](double x) { return x > 0.5; }), 1);
  EXPECT_GT(evidence.observed.seconds.size(), 1u);
}

TEST(Experiments, DoNotCountARunBesideThievesThatWasEnded) {
  const std::string name = testing::TempDir() + "hung" + std::to_string(getpid());
  bool in_turn = false;
  const Hooks hooks{.progress = [&](const std::string& what, double, double) {
    if (what == "runs in turn" && !std::exchange(in_turn, true)) std::ofstream(name + "s");
  }};
  // Hangs while a second thread of this process works: a thief.
  const std::string command =
      "sleep 0.02; test -e " + name +
      "s && for i in 1 2 3 4 5 6 7 8 9; do sleep 0.003;"
      " for thread in /proc/$PPID/task/*/stat; do read -r id program state rest < $thread;"
      " test $id != $PPID && test $state = R && echo > " +
      name +
      " && exec sleep 30;"
      " done; done; true";
  const Evidence evidence = gathered({.command = {"sh", "-c", command}, .seconds = 1.5}, hooks);
  std::filesystem::remove(name + "s");
  if (!std::filesystem::remove(name)) GTEST_SKIP() << "no thief was seen at work";
  const Trial& stolen = trial(evidence, Resource::cpu_time);
  for (const Level& level : stolen.levels)  // of a round in which the thief was not seen
    for (const double slowdown : level.slowdowns) EXPECT_LT(slowdown, 5);
  EXPECT_EQ(stolen.levels.empty(), stolen.untried.find("ended after") != std::string::npos);
}

TEST(Experiments, SayHowTheCommandFails) {
  EXPECT_THROW(gathered({.command = {"false"}}), core::Error);
  EXPECT_THROW(gathered({.command = {"sleep", "9"}, .seconds = 0.1}), core::Error);
}

}  // namespace
}  // namespace tabane::lab::explain
