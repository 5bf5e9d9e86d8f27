#include "tabane/lab/tune/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tabane/lab/tune/law.h"
#include "tabane/lab/tune/synthetic_command.h"

namespace tabane::lab::tune {
namespace {

// Asks and tells until the limits are reached; the number of runs.
int search_all(Search& search, SyntheticCommand& command) {
  int runs = 0;
  while (const auto trial = search.next()) {
    search.tell(*trial, command.run(trial->candidate));
    ++runs;
  }
  return runs;
}

TEST(Law, IsFoundFromTimesOfManyWorkersAlone) {
  const team::ScalabilityLaw law{.contention = 0.02, .coherency = 1e-4};
  std::vector<TimePoint> points;
  for (const double n : {16., 32., 64., 128.}) points.push_back({n, 100 / law.speedup(n)});
  const auto fitted = fit_law(points);
  ASSERT_TRUE(fitted);
  EXPECT_NEAR(fitted->one_worker_seconds, 100, 1e-6);
  EXPECT_NEAR(fitted->law.contention, 0.02, 1e-8);
  EXPECT_NEAR(fitted->law.coherency, 1e-4, 1e-10);
  EXPECT_NEAR(fitted->peak(), std::sqrt(0.98 / 1e-4), 1e-3);
  EXPECT_LT(fitted->misfit, 1e-9);
}

TEST(Law, NeedsTwoNumbersOfWorkers) {
  EXPECT_FALSE(fit_law({}));
  const TimePoint same[] = {{4, 1}, {4, 1.1}};
  EXPECT_FALSE(fit_law(same));
}

TEST(Search, FindsTheBestOfCommandsInAFifthOfTheRuns) {
  std::mt19937_64 random(5);
  std::vector<double> regrets;
  for (int i = 0; i < 20; ++i) {
    const SyntheticMachine& machine = i % 2 == 0 ? k72Pus : k512Pus;
    SyntheticCommand command(machine, draw_law(machine, random), random());
    const auto most = static_cast<int>(command.space().candidates().size() / 5);
    Search search(command.space(), {.most_runs = most});
    EXPECT_LE(search_all(search, command), most);
    EXPECT_TRUE(search.was_run(search.best()));
    regrets.push_back(command.true_seconds(search.best()) / command.least_seconds() - 1);
  }
  std::sort(regrets.begin(), regrets.end());
  EXPECT_LT(regrets[10], 0.02);
  EXPECT_LT(regrets[17], 0.05);
}

TEST(Search, StartsWithTheCommandAsStarted) {
  SyntheticCommand command(k72Pus, {});
  Search search(command.space(), {.most_runs = 100});
  EXPECT_EQ(search.next()->candidate, 0u);
}

TEST(Search, ComesToAnEndWhereNothingMatters) {
  SyntheticCommand command(k72Pus, {.noise = 0.001, .nothing_matters = true});
  Search search(command.space(), {.most_runs = 100'000});
  EXPECT_LT(search_all(search, command), 5000);
}

TEST(Search, DoesNotTryALevelAgainThatNeverWorks) {
  std::mt19937_64 random(3);
  SyntheticCommand command(k72Pus, draw_law(k72Pus, random));
  Search search(command.space(), {.most_runs = 200});
  int failed = 0;
  while (const auto trial = search.next()) {
    Outcome outcome = command.run(trial->candidate);
    // The first of the other allocators cannot be loaded.
    if (command.space().candidates()[trial->candidate][3] == 1) {
      outcome.refused = "exit code 127";
      ++failed;
    }
    search.tell(*trial, outcome);
  }
  EXPECT_GE(failed, 1);
  EXPECT_LE(failed, 2);
  EXPECT_NE(command.space().candidates()[search.best()][3], 1);
}

TEST(Search, HasASpaceOfOneCandidate) {
  const Space space(std::vector<Dimension>{{.name = "allocator", .levels = {kAsStarted}}});
  Search search(space, {.most_runs = 100});
  int runs = 0;
  while (const auto trial = search.next()) {
    search.tell(*trial, {.value = 1, .seconds = 1});
    ++runs;
  }
  EXPECT_LE(runs, 10);
  EXPECT_EQ(search.best(), 0u);
}

}  // namespace
}  // namespace tabane::lab::tune
