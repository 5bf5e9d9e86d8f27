#include "tabane/tools/explain/experiments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tabane/core/binding.h"
#include "tabane/core/error.h"

namespace tabane::lab::explain {
namespace {

// On one PU, where nothing is calibrated.
Evidence gathered(const std::vector<std::string>& command, const Hooks& hooks = {},
                  double seconds = 2) {
  const core::ScopedBinding binding(core::Topology::detect().pus().front().os_index);
  return gather({.command = command, .seconds = seconds}, core::Topology::detect(), hooks);
}

const Trial& trial(const Evidence& evidence, Resource resource) {
  return *std::ranges::find(evidence.trials, resource, &Trial::resource);
}

// Takes a third of the time where the allocator is asked for huge pages.
const std::vector<std::string> kHelpedByPages = {
    "sh", "-c", "test -n \"$GLIBC_TUNABLES\" || sleep 0.04; sleep 0.02"};

TEST(Experiments, CompareEachWayWithUndisturbedRuns) {
  const Evidence evidence = gathered(kHelpedByPages);
  EXPECT_TRUE(evidence.complete);
  EXPECT_EQ(evidence.machine.pus, 1);
  const Trial& pages = trial(evidence, Resource::huge_pages);
  ASSERT_EQ(pages.levels.size(), 1u) << pages.untried;
  EXPECT_EQ(pages.option, "--huge-pages");
  EXPECT_LT(*std::ranges::min_element(pages.levels[0].slowdowns), 0.8);
  EXPECT_EQ(trial(evidence, Resource::bandwidth).untried,
            "there is one PU: a thief there would take processor time, too");
  for (const Trial& each : evidence.trials)
    EXPECT_EQ(each.levels.empty(), !each.untried.empty()) << static_cast<int>(each.resource);
}

TEST(Experiments, TakeEachWayOnceARound) {
  const Evidence evidence = gathered({"sleep", "0.02"});
  std::map<std::pair<int, double>, std::size_t> runs;
  for (const auto& run : evidence.runs) {
    EXPECT_GE(run.seconds, 0.02);
    ++runs[{run.resource ? static_cast<int>(*run.resource) : -1, run.taken}];
  }
  const std::size_t rounds = trial(evidence, Resource::cpu_time).levels.at(0).slowdowns.size();
  EXPECT_GE(rounds, 1u);
  std::size_t as_expected = 0;
  for (const auto& [way, n] : runs) {
    EXPECT_EQ(n % rounds, 0u);
    as_expected += n;
  }
  EXPECT_EQ(as_expected, evidence.runs.size());
  EXPECT_GE((runs[{-1, 0}]), rounds);
  EXPECT_EQ(evidence.observed.seconds.size(), (runs[{-1, 0}]));
}

TEST(Experiments, RepeatAVeryShortCommand) {
  const Evidence evidence = gathered({"true"}, {}, 1);
  ASSERT_FALSE(evidence.notes.empty());
  EXPECT_TRUE(std::ranges::any_of(evidence.notes, [](const std::string& note) {
    return note.find("so a sample is ") != std::string::npos;
  }));
}

TEST(Experiments, KeepWholeRoundsWhenTheyAreStopped) {
  bool stop = false;
  const Hooks late{.stop_requested = [&] { return stop; },
                   .progress = [&](const std::string&, double done, double) { stop = done > 0.5; }};
  const Evidence evidence = gathered({"sleep", "0.02"}, late, 60);
  EXPECT_FALSE(evidence.complete);
  EXPECT_FALSE(evidence.runs.empty());
  const Hooks at_once{.stop_requested = [] { return true; }};
  EXPECT_THROW(gathered({"sleep", "0.02"}, at_once), Stopped);
}

TEST(Experiments, SayHowTheCommandFails) {
  EXPECT_THROW(gathered({"false"}), core::Error);
  EXPECT_THROW(gathered({"sleep", "9"}, {}, 0.1), core::Error);
}

}  // namespace
}  // namespace tabane::lab::explain
