#include "tabane/tools/tune/tuning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/tools/tune/synthetic_command_test.h"
#include "tabane/tools/tune/tune_record.h"

namespace tabane::lab::tune {
namespace {

RunCandidate runner(SyntheticCommand& command) {
  return [&command](const Proposal& proposal) { return command.run(proposal.candidate); };
}

// Contention that punishes many threads: the command as started is far from the best.
SyntheticLaw contended() { return {.serial_threads = 0.1, .coherency_threads = 0.002}; }

TEST(Tuning, NamesAWinnerThatWasMeasuredAfresh) {
  SyntheticCommand command(k72Pus, contended(), 3);
  const Tuning tuning = tune_command(command.space(), {.runs = 200}, runner(command));
  EXPECT_TRUE(tuning.complete);
  ASSERT_TRUE(tuning.proof);
  EXPECT_TRUE(tuning.proof->wins());
  EXPECT_GE(tuning.proof->ratio.pairs, kFewestPairs);
  EXPECT_EQ(tuning.chosen(), tuning.best);
  EXPECT_LE(tuning.runs.size(), 200u);
  const double gain = command.true_seconds(0) / command.true_seconds(tuning.best);
  EXPECT_NEAR(tuning.proof->ratio.value / gain, 1, 0.1);
}

TEST(Tuning, NamesFewWinnersWhereNothingMatters) {
  int winners = 0;
  for (int i = 0; i < 40; ++i) {
    SyntheticCommand command(k72Pus, {.nothing_matters = true}, static_cast<std::uint64_t>(i));
    winners += tune_command(command.space(), {.runs = 60}, runner(command)).chosen() != 0;
  }
  EXPECT_LE(winners, 4);
}

// A machine on which something else runs and pauses in turn. While it runs each setting is slower,
// by how much is drawn anew each time. Time passes by the runs themselves.
class LoadedCommand {
 public:
  static constexpr double kQuiet = 20, kLoaded = 80;  // in runs as started
  static constexpr double kNoise = 0.03;

  // gain: of the placement "compact"; whatever else is changed makes it 3 % slower.
  LoadedCommand(double gain, unsigned seed) : gain_(gain), random_(seed) {
    left_ = uniform(0, kQuiet + kLoaded);
    quiet_ = left_ > kLoaded;
    if (quiet_) left_ -= kLoaded;
    change_load();
  }

  static const Space& space() {
    static const Space space({{.name = "placement", .levels = {kAsStarted, "compact", "scatter"}},
                              {.name = "allocator", .levels = {kAsStarted, "jemalloc"}},
                              {.name = "huge pages", .levels = {kAsStarted, "yes"}}});
    return space;
  }
  double true_seconds(std::size_t candidate) const {
    if (candidate == 0) return 1;
    return space().candidates()[candidate][0] == 1 ? 1 / gain_ : 1.03;
  }
  RunResult run(std::size_t candidate) {
    if (left_ <= 0) {
      quiet_ = !quiet_;
      left_ = quiet_ ? kQuiet : kLoaded;
      change_load();
    }
    const double noise = std::exp(kNoise * std::normal_distribution<double>()(random_));
    const double seconds = true_seconds(candidate) * slower_[candidate] * noise;
    left_ -= seconds;
    return {.value = seconds, .seconds = seconds};
  }

 private:
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  void change_load() {
    for (double& times : slower_) times = quiet_ ? 1 : uniform(1.2, 1.6);
  }

  double gain_;
  std::mt19937_64 random_;
  bool quiet_ = true;
  double left_ = 0;
  std::vector<double> slower_ = std::vector<double>(space().candidates().size(), 1);
};

constexpr int kTunings = 100;

// How many of the tunings name a winner that is one, and one that is none.
std::pair<int, int> winners_under_load(double gain, int runs) {
  int right = 0, wrong = 0;
  for (unsigned seed = 0; seed < kTunings; ++seed) {
    LoadedCommand command(gain, seed);
    const RunCandidate run = [&](const Proposal& proposal) {
      return command.run(proposal.candidate);
    };
    const std::size_t chosen = tune_command(LoadedCommand::space(), {.runs = runs}, run).chosen();
    if (chosen != 0) ++(command.true_seconds(chosen) < 1 ? right : wrong);
  }
  return {right, wrong};
}

TEST(Tuning, NamesNoWinnerForLoadThatComesAndGoes) {
  for (const int runs : {120, 300}) {
    const int wrong = winners_under_load(1 / 1.03, runs).second;
    EXPECT_LE(wrong, kTunings / 20) << runs;
  }
}

TEST(Tuning, FindsTrueWinnersUnderLoadThatComesAndGoes) {
  const auto [right, wrong] = winners_under_load(1.3, 300);
  EXPECT_GE(right, 0.9 * kTunings);
  EXPECT_EQ(wrong, 0);
}

TEST(Proof, LeavesOutRoundsUnderLoadOnly) {
  const std::vector<double> quiet = {1, 1.02, 0.99, 1.01, 1, 1.03, 0.98, 1.02};
  std::vector<double> loaded = quiet;
  for (double& seconds : loaded) seconds *= 1.4;
  Proof proof;
  proof.as_started = quiet;
  proof.as_started.insert(proof.as_started.end(), loaded.begin(), loaded.end());
  proof.winner.assign(proof.as_started.size(), 1.1);
  proof.ratio = core::interleaved_ratio(proof.as_started, proof.winner);
  proof.leave_out_load(proof.as_started);
  EXPECT_EQ(proof.left_out, loaded.size());
  EXPECT_EQ(proof.ratio.pairs, quiet.size());
  EXPECT_NEAR(proof.ratio.value, 1 / 1.1, 0.02);

  // The same values in an order of chance: that is how the command is.
  Proof mixed;
  for (std::size_t i = 0; i < quiet.size(); ++i) {
    const bool slow_first = i % 3 == 0;
    mixed.as_started.push_back(slow_first ? loaded[i] : quiet[i]);
    mixed.as_started.push_back(slow_first ? quiet[i] : loaded[i]);
  }
  mixed.winner.assign(mixed.as_started.size(), 0.9);
  mixed.ratio = core::interleaved_ratio(mixed.as_started, mixed.winner);
  mixed.leave_out_load(mixed.as_started);
  EXPECT_EQ(mixed.left_out, 0u);
  EXPECT_EQ(mixed.ratio.pairs, mixed.winner.size());
}

// All rounds of the proof have met load, which slows both; quiet runs as started came before.
TEST(Proof, UnderLoadAloneIsHeldToQuietTimes) {
  std::vector<double> in_order = {1, 1.02, 0.99, 1.01, 1, 1.03, 0.98, 1.02, 1.01, 0.99};
  for (int i = 0; i < 10; ++i) in_order.push_back(1.4 + 0.01 * (i % 3));
  for (const auto& [winner, wins] : {std::pair{0.5, true}, std::pair{1.1, false}}) {
    Proof proof;
    proof.as_started.assign(in_order.end() - 10, in_order.end());
    proof.winner.assign(10, winner);
    proof.ratio = core::interleaved_ratio(proof.as_started, proof.winner);
    ASSERT_TRUE(proof.wins());
    proof.leave_out_load(in_order);
    EXPECT_EQ(proof.wins(), wins) << winner;
  }
}

TEST(Tuning, SpreadsTheProofOverTheSearch) {
  SyntheticCommand command(k72Pus, contended(), 3);
  const Tuning tuning = tune_command(command.space(), {.runs = 200}, runner(command));
  std::size_t proofs = 0, before_the_end = 0, last_of_search = 0;
  for (std::size_t i = 0; i < tuning.runs.size(); ++i)
    if (tuning.runs[i].proposal.phase != Phase::proof) last_of_search = i;
  for (std::size_t i = 0; i < tuning.runs.size(); ++i) {
    if (tuning.runs[i].proposal.phase != Phase::proof) continue;
    ++proofs;
    before_the_end += i < last_of_search;
  }
  EXPECT_GE(before_the_end, 10u);
  EXPECT_GE(proofs, before_the_end + 6);
}

TEST(Tuning, KeepsWhatIsKnownWhenItIsStoppedAndGoesOnFromThere) {
  SyntheticCommand command(k72Pus, contended(), 3);
  int left = 150;
  Hooks hooks;
  hooks.stop_requested = [&] { return left-- <= 0; };
  const Tuning first = tune_command(command.space(), {.runs = 300}, runner(command), hooks);
  EXPECT_FALSE(first.complete);
  EXPECT_EQ(first.runs.size(), 150u);
  EXPECT_NE(first.best, 0u);
  EXPECT_EQ(first.chosen(), 0u);  // not proved
  const Tuning second =
      tune_command(command.space(), {.runs = 60}, runner(command), {}, first.runs);
  EXPECT_TRUE(second.complete);
  EXPECT_LE(second.runs.size(), 210u);
  EXPECT_NE(second.chosen(), 0u);
}

TEST(Tuning, RefusesABudgetBelowThePriceOfOneRound) {
  SyntheticCommand command(k72Pus, contended());
  EXPECT_THROW(tune_command(command.space(), {.runs = 10}, runner(command)), core::UsageError);
  EXPECT_THROW(tune_command(command.space(), {.seconds = 0.5}, runner(command)), core::UsageError);
}

TEST(Tuning, KeepsToABudgetOfSeconds) {
  SyntheticCommand command(k72Pus, contended());
  const double budget = 100 * command.true_seconds(0);
  const Tuning tuning = tune_command(command.space(), {.seconds = budget}, runner(command));
  double spent = 0;
  for (const auto& run : tuning.runs) spent += run.outcome.seconds;
  EXPECT_LT(spent, 1.1 * budget);
  EXPECT_GT(spent, 0.2 * budget);
}

TEST(Tuning, OfACommandThatFailsFromTheStartIsAnError) {
  SyntheticCommand command(k72Pus, contended());
  const RunCandidate fails = [](const Proposal&) {
    return RunResult{.seconds = 1, .refused = "exit code 3"};
  };
  EXPECT_THROW(tune_command(command.space(), {.runs = 100}, fails), core::Error);
}

class OfRecord : public testing::Test {
 protected:
  Record record() {
    return tune_record(topology, command.space(), tuning,
                       {.command = "./work",
                        .goal = "wall time",
                        .unit = "s",
                        .line = "tabane run",
                        .kept = {{"command", {"./work"}}}});
  }

  const core::Topology topology = core::Topology::synthetic("pack:2 numa:1 core:18 pu:2");
  SyntheticCommand command{k72Pus, contended(), 3};
  Tuning tuning = tune_command(command.space(), {.runs = 120}, runner(command));
};

TEST_F(OfRecord, HoldsTheRunsSoThatTheTuningCanGoOn) {
  const Record read = record_from_json(to_json(record()));
  const auto runs = runs_of(read, command.space());
  ASSERT_EQ(runs.size(), tuning.runs.size());
  for (std::size_t i = 0; i < runs.size(); ++i) {
    EXPECT_EQ(runs[i].proposal.candidate, tuning.runs[i].proposal.candidate);
    EXPECT_EQ(runs[i].proposal.phase, tuning.runs[i].proposal.phase);
    EXPECT_EQ(runs[i].outcome.value, tuning.runs[i].outcome.value);
  }
  EXPECT_EQ(kept_of(read).at("command").at(0), "./work");
}

TEST_F(OfRecord, SaysWhatLoadThereWas) {
  EXPECT_EQ(to_json(record()).dump().find("others_pus"), std::string::npos);  // not known
  for (auto& run : tuning.runs) run.outcome.others_pus = 0.25;
  tuning.proof->left_out = 3;
  const Record read = record_from_json(to_json(record()));
  EXPECT_EQ(runs_of(read, command.space()).back().outcome.others_pus, 0.25);
  const std::string all = to_json(read).dump();
  EXPECT_NE(all.find("0.25 PUs, at most 0.25"), std::string::npos);
  EXPECT_NE(all.find("other programs kept 0.2 PUs busy during the proof"), std::string::npos);
  EXPECT_NE(all.find("Note: 3 of "), std::string::npos);
  tuning.proof->ratio.pairs = kFewestPairs - 1;
  EXPECT_NE(record().sentences.back().find("No winner is named: too few rounds"),
            std::string::npos);
}

TEST_F(OfRecord, IsRefusedForAnotherSpaceOrMachine) {
  const Record read = record();
  SyntheticCommand other(k512Pus, contended());
  EXPECT_THROW(runs_of(read, other.space()), core::UsageError);
  EXPECT_EQ(machine_differs(read, topology), "");
  EXPECT_NE(machine_differs(read, core::Topology::synthetic("pack:1 core:4 pu:1")), "");
  Record of_nothing;
  EXPECT_THROW(kept_of(of_nothing), core::UsageError);
}

TEST_F(OfRecord, SaysWhatWasFoundInOneSentence) {
  const Record read = record();
  const std::string& sentence = read.sentences.back();
  EXPECT_NE(sentence.find("times as fast as you started it"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("By the model it would take "), std::string::npos) << sentence;
  EXPECT_NE(read.find_view("tune.heat_map"), nullptr);
  EXPECT_NE(read.find_view("tune.effects"), nullptr);
  EXPECT_NE(read.find_view("tune.race"), nullptr);
  const View* const law = read.find_view("tune.law_threads");
  ASSERT_NE(law, nullptr);
  EXPECT_NE(
      law->note.find("3.4 % of the work cannot be divided, that each further thread adds 0.4 % "
                     "of the time of one, and that 15 would be fastest"),
      std::string::npos)
      << law->note;
  tuning.proof->ratio.interval = {0.99, 1.02};
  tuning.proof->ratio.value = 1.2;
  EXPECT_NE(record().sentences.back().find("no difference seen; more runs"), std::string::npos);
  tuning.proof->ratio.value = 1.01;
  EXPECT_NE(record().sentences.back().find("no difference seen."), std::string::npos);
  EXPECT_NE(to_json(record()).dump().find("1.01 [0.99, 1.02]"), std::string::npos);
  tuning.proof->ratio.pairs = core::kFewestForInterval - 1;
  EXPECT_EQ(to_json(record()).dump().find("1.01 ["), std::string::npos);
}

// One thread and the second allocator are 2 and 1.2 times as fast (as good), whatever the other is.
TEST_F(OfRecord, SaysWhyTheWinnerWon) {
  const Space space(
      {{.name = "threads", .scale = Scale::threads, .levels = {2, 1}, .amounts = {2, 1}},
       {.name = "allocator", .levels = {kAsStarted, "jemalloc"}}});
  const RunCandidate run = [&](const Proposal& proposal) {
    const Candidate& candidate = space.candidates()[proposal.candidate];
    const double seconds = (candidate[0] == 1 ? 0.5 : 1.0) / (candidate[1] == 1 ? 1.2 : 1.0);
    return RunResult{.value = seconds, .seconds = seconds};
  };
  const Tuning of_two = tune_command(space, {.runs = 60}, run);
  ASSERT_NE(of_two.chosen(), 0u);
  const struct {
    TuningHeader header;
    std::string begins, without;
  } goals[] = {{{.goal = "wall time", .unit = "s"}, "it would take ", "times as long without "},
               {{.goal = "peak memory", .unit = "B"}, "it is ", "times as good as without "},
               {{.goal = "metric", .inverted = true}, "it is ", "times as good as without "}};
  for (const auto& [header, begins, without] : goals) {
    const std::string sentence = tune_record(topology, space, of_two, header).sentences.back();
    const std::size_t begin = sentence.find("By the model " + begins);
    ASSERT_NE(begin, std::string::npos) << sentence;
    const std::size_t threads = sentence.find(without + "threads 1 and 1.", begin);
    EXPECT_NE(threads, std::string::npos) << sentence;
    EXPECT_NE(sentence.find(without + "allocator jemalloc.", threads), std::string::npos)
        << sentence;
    EXPECT_NEAR(std::stod(sentence.substr(begin + 13 + begins.size())), 2, 0.3) << sentence;
  }
}

// Any law goes through two points.
TEST_F(OfRecord, ShowsALawOnlyOfThreeNumbersOfWorkers) {
  const Space two(
      {{.name = "threads", .scale = Scale::threads, .levels = {2, 1}, .amounts = {2, 1}}});
  const RunCandidate run = [](const Proposal& proposal) {
    return RunResult{.value = proposal.candidate == 0 ? 1.0 : 1.5, .seconds = 1};
  };
  const Tuning of_two = tune_command(two, {.runs = 30}, run);
  const Record read = tune_record(topology, two, of_two, {});
  EXPECT_EQ(read.find_view("tune.law_threads"), nullptr);
}

TEST_F(OfRecord, DrawsTheBestMedianOfWhatWasSeenUntilThen) {
  const Record read = record();
  const auto& race = std::get<Curves>(read.find_view("tune.race")->content);
  std::map<std::size_t, std::vector<double>> seen;
  for (const auto& run : tuning.runs)
    if (!run.outcome.stopped) seen[run.proposal.candidate].push_back(run.outcome.value);
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [candidate, values] : seen) least = std::min(least, core::median(values));
  EXPECT_DOUBLE_EQ(race.series.back().y.back(), least);
}

// One candidate is fast once and then fails, and all with the second allocator fail.
TEST(Tuning, ShowsNothingOfWhatIsOutOfTheQuestionAsGood) {
  SyntheticLaw law = contended();
  law.allocator_alone = {1, 0.9};
  law.allocator_growth = {0, 0};
  SyntheticCommand command(k72Pus, law, 3);
  const Space& space = command.space();
  std::size_t allocator = 0, fast = 0;
  while (space.dimensions()[allocator].name != "allocator") ++allocator;
  const RunCandidate run = [&](const Proposal& proposal) {
    RunResult outcome = command.run(proposal.candidate);
    if (space.candidates()[proposal.candidate][allocator] == 1) outcome.refused = "exit code 3";
    if (fast == 0 && proposal.phase == Phase::looking) {
      fast = proposal.candidate;
      outcome.value /= 100;
    } else if (fast != 0 && proposal.candidate == fast) {
      outcome.refused = "exit code 4";
    }
    return outcome;
  };
  const Tuning tuning = tune_command(space, {.runs = 120}, run);
  ASSERT_TRUE(tuning.search->is_refused(fast));
  const Record record = tune_record(core::Topology::synthetic("pack:2 numa:1 core:18 pu:2"), space,
                                    tuning, {.goal = "wall time", .unit = "s"});
  const auto& race = std::get<Curves>(record.find_view("tune.race")->content);
  const Curve& best = race.series.back();
  EXPECT_EQ(best.name, "best median so far");
  EXPECT_GT(*std::min_element(best.y.begin(), best.y.end()), command.least_seconds() / 2);
  const auto& effects = std::get<Bars>(record.find_view("tune.effects")->content);
  const std::string refused = "allocator " + space.dimensions()[allocator].levels[1].text();
  for (const Bar& bar : effects.bars) {
    EXPECT_NE(bar.label, refused);
    EXPECT_LT(*bar.value, 20) << bar.label;
  }
}

}  // namespace
}  // namespace tabane::lab::tune
