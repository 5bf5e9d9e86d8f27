#include "tabane/tools/time/time.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tabane/tools/time/simulated_commands_test.h"

namespace tabane::lab {
namespace {

TimeEffort rounds(int count) {
  return {.rounds = {.fewest = count, .most = count, .warmups = 1}, .least_seconds = 0};
}

// At most so long, with the usual rounds.
TimeEffort within(double budget_seconds, double precision) {
  TimeEffort effort{.precision = precision};
  effort.rounds.budget_seconds = budget_seconds;
  return effort;
}

TEST(TimeInTurn, TakesOneRunOfEachPerRoundAfterTheWarmUp) {
  SimulatedMachine machine(1);
  int prepared = 0, concluded = 0;
  std::vector<TimeContender> both = {machine.command("a", 1), machine.command("b", 2)};
  both[0].prepare = [&] { ++prepared; };
  both[0].conclude = [&] { ++concluded; };
  TimeEffort effort = rounds(5);
  effort.rounds.warmups = 2;
  const Timings timings = time_in_turn(both, effort, machine.clock, {});
  EXPECT_EQ(timings.end, TimeEnd::most_rounds);
  EXPECT_EQ(timings.rounds(), 5u);
  EXPECT_EQ(prepared, 7);
  EXPECT_EQ(concluded, 7);
  const auto& a = timings.points[0];
  const auto& b = timings.points[1];
  EXPECT_EQ(b.samples.size(), 5u);
  EXPECT_EQ(a.beside.at(seen::kUser)[3], a.samples[3] / 2);
  EXPECT_TRUE(std::isnan(a.beside.at(seen::kPeakBytes)[0]));
  for (std::size_t i = 0; i < 5; ++i) {  // 0 and 1, then 2 and 3 …
    EXPECT_EQ(static_cast<int>(a.beside.at(seen::kOrder)[i]) / 2, static_cast<int>(i));
    EXPECT_EQ(a.beside.at(seen::kOrder)[i] + b.beside.at(seen::kOrder)[i],
              static_cast<double>(4 * i + 1));
  }
  EXPECT_NEAR(timings.to_first[1].value, 2, 0.3);
}

TEST(TimeInTurn, SaysAfterTheWarmUpHowLongItTakes) {
  const auto plan_within = [](double most_seconds) {
    SimulatedMachine machine(2, 1e-9);
    TimeEffort effort = rounds(10);
    effort.rounds.most_seconds = most_seconds;
    Hooks hooks;
    std::string plan;
    hooks.on_plan = [&](const std::string& text) { plan = text; };
    time_in_turn({machine.command("a", 1), machine.command("b", 2)}, effort, machine.clock, hooks);
    return plan;
  };
  EXPECT_EQ(plan_within(60),
            "a round takes 3.00 s: 10 rounds take 30.0 s; --max-time and --runs make it shorter");
  EXPECT_EQ(plan_within(20),
            "a round takes 3.00 s: 10 rounds would take 30.0 s; --max-time ends after 20.0 s");
}

TEST(TimeInTurn, StopsWhenADifferenceIsShown) {
  SimulatedMachine machine(2);
  const Timings timings = time_in_turn({machine.command("a", 0.1), machine.command("b", 0.2)},
                                       {.least_seconds = 0}, machine.clock, {});
  EXPECT_EQ(timings.end, TimeEnd::known);
  EXPECT_EQ(timings.rounds(), 10u);
  EXPECT_GT(timings.to_first[1].interval.low, 1);
}

TEST(TimeInTurn, MeasuresForTheLeastTime) {
  SimulatedMachine machine(2);
  const Timings timings = time_in_turn({machine.command("a", 0.1), machine.command("b", 0.2)},
                                       {.least_seconds = 9}, machine.clock, {});
  EXPECT_EQ(timings.end, TimeEnd::known);
  EXPECT_NEAR(static_cast<double>(timings.rounds()), 9 / 0.3, 3);
}

TEST(TimeInTurn, GoesOnUntilEqualCommandsAreKnownPrecisely) {
  SimulatedMachine machine(3, 0.02);
  const Timings timings = time_in_turn({machine.command("a", 0.1), machine.command("b", 0.1)},
                                       within(1000, 0.01), machine.clock, {});
  EXPECT_EQ(timings.end, TimeEnd::known);
  EXPECT_LE(timings.precision, 0.01);
  EXPECT_GT(timings.rounds(), 20u);
  EXPECT_TRUE(timings.to_first[1].undecided());
}

TEST(TimeInTurn, OfOneCommandStopsWhenItsMedianIsKnown) {
  SimulatedMachine machine(4, 0.02);
  const Timings timings =
      time_in_turn({machine.command("a", 0.1)}, within(1000, 0.01), machine.clock, {});
  EXPECT_EQ(timings.end, TimeEnd::known);
  EXPECT_NEAR(core::median(timings.points[0].samples), 0.1, 0.002);
}

TEST(TimeInTurn, KeepsTheFewestRoundsBeyondTheBudgetButNotBeyondTheMost) {
  SimulatedMachine machine(5);
  const std::vector<TimeContender> one = {machine.command("a", 10)};
  const Timings over = time_in_turn(one, within(20, 0), machine.clock, {});
  EXPECT_EQ(over.end, TimeEnd::budget);
  EXPECT_EQ(over.rounds(), 10u);
  TimeEffort effort = within(25, 0);
  effort.rounds.most_seconds = 25;
  const Timings cut = time_in_turn(one, effort, machine.clock, {});
  EXPECT_EQ(cut.end, TimeEnd::budget);
  EXPECT_EQ(cut.rounds(), 3u);
  EXPECT_TRUE(std::isinf(cut.precision));
}

TEST(TimeInTurn, MakesASampleOfSeveralRuns) {
  SimulatedMachine machine(6, 1e-6);
  TimeEffort effort = rounds(2);
  effort.repeat = 3;
  effort.rounds.warmups = 0;
  const Timings timings = time_in_turn({machine.command("a", 0.1)}, effort, machine.clock, {});
  EXPECT_NEAR(timings.points[0].samples[0], 0.1, 1e-4);
  EXPECT_NEAR(machine.clock.now(), 0.6, 1e-3);
}

TEST(TimeInTurn, EndsWithACommandThatFails) {
  core::ManualClock clock;
  const TimeContender fails{
      .name = "it", .factors = {{kCommandFactor, "it"}}, .run = [](double, bool) {
        return ChildRun{.seconds = 1, .exit_code = 3, .errors = "why\n"};
      }};
  try {
    time_in_turn({fails}, {}, clock, {});
    ADD_FAILURE();
  } catch (const CommandFailed& error) {
    EXPECT_STREQ(error.what(), "'it': exit code 3");
    EXPECT_EQ(error.lines(), std::vector<std::string>{"why"});
  }
  TimeEffort effort = rounds(4);
  effort.ignore_failure = true;
  const Timings timings = time_in_turn({fails}, effort, clock, {});
  EXPECT_EQ(timings.failures, std::vector<int>{4});
  EXPECT_EQ(timings.points[0].beside.at(seen::kExitCode)[0], 3);
}

TEST(TimeInTurn, GivesEachCommandTenTimesItsFirstRun) {
  core::ManualClock clock;
  std::vector<double> limits;
  const auto command = [&](double seconds) {
    return TimeContender{
        .name = "it", .factors = {{kCommandFactor, "it"}}, .run = [&, seconds](double limit, bool) {
          limits.push_back(limit);
          return ChildRun{.seconds = seconds};
        }};
  };
  time_in_turn({command(5)}, rounds(1), clock, {});
  EXPECT_TRUE(std::isinf(limits[0]));
  EXPECT_EQ(limits[1], 50);
  limits.clear();
  time_in_turn({command(0.001)}, rounds(1), clock, {});
  EXPECT_EQ(limits[1], 10);  // a short command may wait for its turn
  limits.clear();
  TimeEffort effort = rounds(1);
  effort.timeout_seconds = 7;
  time_in_turn({command(5)}, effort, clock, {});
  EXPECT_EQ(limits, (std::vector<double>{7, 7}));
}

TEST(TimeInTurn, KeepsWholeRoundsWhenTheUserStops) {
  SimulatedMachine machine(7);
  int asked = 0;
  Hooks hooks;
  hooks.stop_requested = [&] { return ++asked > 9; };  // in the fourth round, after a warm-up
  const Timings timings = time_in_turn({machine.command("a", 1), machine.command("b", 1)},
                                       rounds(100), machine.clock, hooks);
  EXPECT_EQ(timings.end, TimeEnd::stopped);
  EXPECT_EQ(timings.rounds(), 3u);
  EXPECT_EQ(timings.to_first.size(), 2u);
}

// Which of two equal commands is said to be slower, by the rule that hyperfine's users apply to
// runs of one after the other: Welch's t beyond its 5 % point.
bool differ_one_after_the_other(SimulatedMachine& machine, int runs) {
  std::vector<double> a, b;
  for (int i = 0; i < runs; ++i) a.push_back(machine.run(0.1).seconds);
  for (int i = 0; i < runs; ++i) b.push_back(machine.run(0.1).seconds);
  const double error = std::sqrt(
      (std::pow(core::standard_deviation(a), 2) + std::pow(core::standard_deviation(b), 2)) / runs);
  return std::fabs(core::mean(a) - core::mean(b)) > 2 * error;
}

// A precision that is never reached: the difference is looked for up to the last round.
TEST(TimeInTurn, ClaimsNoMoreDifferencesOfACommandFromItselfThanItMayWhileLoadComesInBursts) {
  constexpr int kComparisons = 400;
  int claimed = 0, claimed_in_blocks = 0;
  for (int seed = 0; seed < kComparisons; ++seed) {
    SimulatedMachine machine(static_cast<std::uint32_t>(seed), 0.05, 2);
    TimeEffort effort{.rounds = {.fewest = 8,
                                 .most = 150,
                                 .warmups = 1,
                                 .seed = static_cast<std::uint32_t>(seed)},
                      .least_seconds = 0,
                      .precision = 0};
    const Timings timings = time_in_turn({machine.command("a", 0.1), machine.command("b", 0.1)},
                                         effort, machine.clock, {});
    claimed += !timings.to_first[1].undecided();
    claimed_in_blocks += differ_one_after_the_other(machine, 30);
  }
  EXPECT_LE(claimed, kComparisons * 5 / 100);
  EXPECT_GT(claimed_in_blocks, kComparisons * 20 / 100);
}

// Nine ratios to the first: all their intervals hold together.
TEST(TimeInTurn, ClaimsNoMoreAmongSeveralCommands) {
  constexpr int kComparisons = 100;
  int claimed = 0;
  for (int seed = 0; seed < kComparisons; ++seed) {
    SimulatedMachine machine(static_cast<std::uint32_t>(seed), 0.05, 2);
    std::vector<TimeContender> ten;
    for (char name = 'a'; name <= 'j'; ++name)
      ten.push_back(machine.command(std::string(1, name), 0.1));
    TimeEffort effort = rounds(100);
    effort.rounds.seed = static_cast<std::uint32_t>(seed);
    const Timings timings = time_in_turn(ten, effort, machine.clock, {});
    claimed += std::any_of(timings.to_first.begin() + 1, timings.to_first.end(),
                           [](const core::Ratio& ratio) { return !ratio.undecided(); });
  }
  EXPECT_LE(claimed, kComparisons * 5 / 100);
}

using Texts = std::vector<std::string>;

TEST(NumberParameter, StepsWithoutRounding) {
  EXPECT_EQ(number_parameter("n", "1", "4").values, (Texts{"1", "2", "3", "4"}));
  EXPECT_EQ(number_parameter("n", "0.1", "0.3", "0.1").values, (Texts{"0.1", "0.2", "0.3"}));
  EXPECT_EQ(number_parameter("n", "1", "2", "0.5").values, (Texts{"1.0", "1.5", "2.0"}));
  EXPECT_EQ(number_parameter("n", "-1", "1").values, (Texts{"-1", "0", "1"}));
  EXPECT_EQ(number_parameter("n", "-0.05", "0", "0.05").values, (Texts{"-0.05", "0.00"}));
  EXPECT_EQ(number_parameter("n", "1", "2.5").values, (Texts{"1", "2"}));
  EXPECT_EQ(number_parameter("n", "3", "3").values, Texts{"3"});
}

TEST(NumberParameter, RefusesWhatHasNoValues) {
  EXPECT_THROW(number_parameter("n", "2", "1"), core::UsageError);
  EXPECT_THROW(number_parameter("n", "1", "2", "0"), core::UsageError);
  EXPECT_THROW(number_parameter("n", "1", "2", "-1"), core::UsageError);
  EXPECT_THROW(number_parameter("n", "one", "2"), core::UsageError);
  EXPECT_THROW(number_parameter("n", "", "2"), core::UsageError);
  EXPECT_THROW(number_parameter("n", "1", "1.2.3"), core::UsageError);
  EXPECT_THROW(number_parameter("n", "1", "99999999999999999999"), core::UsageError);
  EXPECT_THROW(number_parameter("n", "0", "1000000"), core::UsageError);
  EXPECT_THROW(number_parameter("a b", "1", "2"), core::UsageError);
}

TEST(ListParameter, SplitsAtCommas) {
  EXPECT_EQ(list_parameter("l", "a,b c,").values, (Texts{"a", "b c", ""}));
  EXPECT_EQ(list_parameter("l", "a\\,b,c\\d").values, (Texts{"a,b", "c\\d"}));
  EXPECT_THROW(list_parameter("", "a"), core::UsageError);
}

TEST(Combinations, AreAllOfThem) {
  EXPECT_EQ(combinations_of({}), std::vector<Values>{{}});
  const auto all = combinations_of({{"a", {"1", "2"}}, {"b", {"x", "y"}}});
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[1], (Values{{"a", "1"}, {"b", "y"}}));
  EXPECT_EQ(all[2], (Values{{"a", "2"}, {"b", "x"}}));
  const Parameter many = number_parameter("n", "1", "1000");
  EXPECT_THROW(combinations_of({many, many}), core::UsageError);
}

TEST(LevelOf, IsANumberOnlyIfItReadsAsOne) {
  EXPECT_TRUE(level_of("8").is_number());
  EXPECT_TRUE(level_of("0.5").is_number());
  EXPECT_FALSE(level_of("08").is_number());
  EXPECT_FALSE(level_of("8M").is_number());
  EXPECT_FALSE(level_of("").is_number());
}

}  // namespace
}  // namespace tabane::lab
