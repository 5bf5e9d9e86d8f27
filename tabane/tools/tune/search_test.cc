#include "tabane/tools/tune/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tabane/tools/tune/synthetic_command_test.h"

namespace tabane::lab::tune {
namespace {

// Asks and tells until the limits are reached; the number of runs.
int search_all(Search& search, SyntheticCommand& command) {
  int runs = 0;
  while (const auto proposal = search.next()) {
    search.tell(*proposal, command.run(proposal->candidate));
    ++runs;
  }
  return runs;
}

TEST(Search, FindsTheBestOfCommandsInAFifthOfTheRuns) {
  std::mt19937_64 random(5);
  std::vector<double> regrets;
  for (int i = 0; i < 20; ++i) {
    const SyntheticMachine& machine = i % 2 == 0 ? k72Pus : k512Pus;
    SyntheticCommand command(machine, draw_law(machine, random), random());
    const auto most = static_cast<int>(command.space().candidates().size() / 5);
    Search search(command.space(), {.runs = most});
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
  Search search(command.space(), {.runs = 100});
  EXPECT_EQ(search.next()->candidate, 0u);
}

TEST(Search, ComesToAnEndWhereNothingMatters) {
  SyntheticCommand command(k72Pus, {.noise = 0.001, .nothing_matters = true});
  Search search(command.space(), {.runs = 100'000});
  EXPECT_LT(search_all(search, command), 5000);
}

TEST(Search, DoesNotTryALevelAgainThatNeverWorks) {
  std::mt19937_64 random(3);
  SyntheticCommand command(k72Pus, draw_law(k72Pus, random));
  Search search(command.space(), {.runs = 200});
  int failed = 0;
  while (const auto proposal = search.next()) {
    RunResult outcome = command.run(proposal->candidate);
    // The first of the other allocators cannot be loaded.
    if (command.space().candidates()[proposal->candidate][3] == 1) {
      outcome.refused = "exit code 127";
      ++failed;
    }
    search.tell(*proposal, outcome);
  }
  EXPECT_GE(failed, 1);
  EXPECT_LE(failed, 2);
  EXPECT_NE(command.space().candidates()[search.best()][3], 1);
}

TEST(Search, HasASpaceOfOneCandidate) {
  const Space space(std::vector<Dimension>{{.name = "allocator", .levels = {kAsStarted}}});
  Search search(space, {.runs = 100});
  int runs = 0;
  while (const auto proposal = search.next()) {
    search.tell(*proposal, {.value = 1, .seconds = 1});
    ++runs;
  }
  EXPECT_LE(runs, 10);
  EXPECT_EQ(search.best(), 0u);
}

// Times of a small space, with noise, of which now and then one is 2 to 3 times as long.
struct SmallCommand {
  const Space& space;
  double (*seconds)(const Candidate&);
  double noise, disturbed;

  double true_seconds(std::size_t candidate) const {
    return seconds(space.candidates()[candidate]);
  }

  std::size_t tune(int runs, std::uint64_t seed) const {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    Search search(space, {.runs = runs});
    while (const auto proposal = search.next()) {
      double value = true_seconds(proposal->candidate) * std::exp(noise * normal(random));
      if (std::bernoulli_distribution(disturbed)(random))
        value *= std::uniform_real_distribution<double>(2, 3)(random);
      const bool stopped = value > proposal->limit;
      if (stopped) value = proposal->limit;
      search.tell(*proposal, {.value = value, .seconds = value, .stopped = stopped});
    }
    return search.choice();
  }
};

Dimension amounts(const char* name, Scale scale, const std::vector<int>& values) {
  Dimension dimension{.name = name, .scale = scale};
  for (const int value : values) {
    dimension.levels.emplace_back(value);
    dimension.amounts.push_back(value);
  }
  return dimension;
}

// A first run that was disturbed makes the best candidate look bad.
TEST(Search, DismissesNothingForOneDisturbedRun) {
  const Space space({amounts("threads", Scale::threads, {2, 1}),
                     amounts("block", Scale::amount, {2048, 1, 2, 64})});
  const auto seconds = [](const Candidate& levels) {
    constexpr double kOfBlock[] = {2.5, 1, 1.12, 1.3};
    return kOfBlock[levels[1]] * (levels[0] == 0 ? 1 : 1.25);
  };
  const SmallCommand command{space, seconds, 0.02, 0.08};
  constexpr int kTunings = 400;
  int wrong = 0;
  for (int i = 0; i < kTunings; ++i)
    wrong += command.true_seconds(command.tune(12, static_cast<std::uint64_t>(i))) > 1.05;
  // About one first run in twelve is disturbed.
  EXPECT_LT(wrong, kTunings / 20);
}

TEST(Search, ChangesNothingThatDoesNotMatter) {
  const Space space({amounts("threads", Scale::threads, {1, 2}),
                     {.name = "placement", .levels = {kAsStarted, "compact"}},
                     {.name = "allocator", .levels = {kAsStarted, "jemalloc", "mimalloc"}}});
  const auto seconds = [](const Candidate& levels) { return levels[0] == 0 ? 1.9 : 1; };
  const SmallCommand command{space, seconds, 0.01, 0};
  constexpr int kTunings = 100;
  int changed_threads_only = 0;
  for (int i = 0; i < kTunings; ++i) {
    const std::size_t choice = command.tune(30, static_cast<std::uint64_t>(i));
    changed_threads_only += space.candidates()[choice] == Candidate{1, 0, 0};
  }
  EXPECT_GT(changed_threads_only, 0.8 * kTunings);
}

TEST(Search, TakesNoMoreThreadsThanAreOfUse) {
  const Space space({amounts("threads", Scale::threads, {1, 2, 4, 8, 16})});
  const auto seconds = [](const Candidate& levels) { return 1.0 / std::min(1 << levels[0], 4); };
  const SmallCommand command{space, seconds, 0.005, 0};
  constexpr int kTunings = 100;
  int four = 0;
  for (int i = 0; i < kTunings; ++i) {
    const std::size_t choice = command.tune(30, static_cast<std::uint64_t>(i));
    four += space.threads(space.candidates()[choice]) == 4;
  }
  EXPECT_GT(four, 0.9 * kTunings);
}

}  // namespace
}  // namespace tabane::lab::tune
