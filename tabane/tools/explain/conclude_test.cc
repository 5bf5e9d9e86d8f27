#include "tabane/tools/explain/conclude.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tabane/tools/explain/scripted_commands_test.h"

namespace tabane::lab::explain {
namespace {

constexpr ScriptedMachine kQuiet{.noise = 0};

Explanation explained(const ScriptedCommand& command, const ScriptedMachine& machine = kQuiet) {
  return conclude(Script(command, machine, 1).evidence());
}

double share(const Explanation& found, Kind kind) {
  const Cause* const cause = found.find(kind);
  return cause == nullptr ? -1 : cause->share;
}

TEST(Conclude, OfNothingSaysThatNothingWasFound) {
  const Explanation found = conclude({});
  EXPECT_TRUE(found.causes.empty());
  ASSERT_FALSE(found.sentences.empty());
  EXPECT_EQ(found.sentences[0], "No cause was found that takes 10 % of its time.");
  EXPECT_EQ(found.line, "");
  EXPECT_EQ(conclude({.observed = {.seconds = {1, 1}, .user = 0.02}}).sentences[0],
            "It waits for most of its time, but there were too few looks to say for what.");
}

TEST(Conclude, TakesTheSlopeOverTheBandwidthLeft) {
  const Explanation found = explained({.shares = {{Kind::bandwidth, 0.7}}});
  ASSERT_FALSE(found.causes.empty());
  EXPECT_EQ(found.causes[0].kind, Kind::bandwidth);
  EXPECT_NEAR(share(found, Kind::bandwidth), 0.7, 1e-6);
  EXPECT_NEAR(share(found, Kind::latency), 0, 1e-6);
  EXPECT_NEAR(share(found, Kind::computing), 0.3, 1e-6);
  EXPECT_GT(found.find(Kind::computing)->interval.low, 0.1);
  // Half of it gone: 1 + 0.7; twice as much: at most 1 / (1 - 0.35), more by the noise.
  EXPECT_NE(found.sentences[0].find("with half of it gone it takes 1.70 ± "), std::string::npos)
      << found.sentences[0];
  EXPECT_GE(found.causes[0].most_gain(), 1 / 0.3);
}

TEST(Conclude, MoreBandwidthThanNeededIsNoGain) {
  Evidence evidence = Script({}, {.noise = 0.02}, 1).evidence();
  Trial& trial = evidence.trials[0];
  ASSERT_EQ(trial.resource, Resource::bandwidth);
  for (Level& level : trial.levels)  // takes a third of the bandwidth, all of its time
    for (double& slowdown : level.slowdowns) slowdown = std::max(1.0, 1 / (1 - level.taken) / 3);
  const Explanation found = conclude(evidence);
  ASSERT_TRUE(found.needs_bandwidth);
  EXPECT_NEAR(*found.needs_bandwidth, 40e9 / 3, 0.1 * 40e9 / 3);
  EXPECT_EQ(share(found, Kind::bandwidth), 0);
  EXPECT_EQ(found.causes.at(0).kind, Kind::computing);
}

TEST(Conclude, LoadsThatWaitForEachOtherAreNoBandwidth) {
  const Explanation found = explained({.shares = {{Kind::latency, 0.9}}});
  EXPECT_EQ(found.causes.at(0).kind, Kind::latency);
  EXPECT_NEAR(share(found, Kind::latency), 0.9, 1e-6);
  EXPECT_NEAR(share(found, Kind::bandwidth), 0, 1e-6);
}

TEST(Conclude, WhatTheThievesTakeOfTheCacheIsNotBandwidth) {
  const ScriptedMachine machine{.thieves_take_cache = true, .noise = 0};
  const Explanation found =
      explained({.shares = {{Kind::cache, 1}}, .set_bytes = 12 * kMiB}, machine);
  EXPECT_EQ(found.causes.at(0).kind, Kind::cache);
  EXPECT_LT(share(found, Kind::bandwidth), 0.05);
  EXPECT_NEAR(share(found, Kind::cache), 1, 0.05);
}

TEST(Conclude, FindsTheWorkingSetInBothOrders) {
  for (const bool in_order : {false, true}) {
    for (const double set : {6.0, 12.0, 20.0}) {
      const Explanation found = explained(
          {.shares = {{Kind::cache, 0.8}}, .set_bytes = set * kMiB, .in_order = in_order});
      ASSERT_TRUE(found.working_set) << set;
      EXPECT_LT(found.working_set->bytes, 2 * set * kMiB) << in_order;
      EXPECT_GT(found.working_set->bytes, set / 2 * kMiB) << in_order;
      EXPECT_TRUE(found.working_set->interval.contains(set * kMiB)) << in_order << " " << set;
    }
  }
}

TEST(Conclude, AThiefThatDoesNotHoldTheCacheSaysNothing) {
  Evidence evidence =
      Script({.shares = {{Kind::cache, 0.8}}, .set_bytes = 12 * kMiB}, kQuiet, 1).evidence();
  for (Level& level : evidence.trials[1].levels) level.own_speed = 0.4;
  EXPECT_FALSE(conclude(evidence).working_set);
}

TEST(Conclude, TellsOnePartFromUnequalThreadsAndFromLocks) {
  const Explanation serial = explained({.threads = 8, .serial = 0.2});
  EXPECT_EQ(serial.causes.at(0).kind, Kind::serial);
  EXPECT_NEAR(share(serial, Kind::serial), 0.2 / 0.3 * 7 / 8, 0.02);
  const Explanation uneven =
      explained({.threads = 8, .work = {0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.6, 2.2}});
  EXPECT_EQ(uneven.causes.at(0).kind, Kind::imbalance);
  EXPECT_NEAR(share(uneven, Kind::imbalance), 1 - 1 / 2.2, 0.03);
  const Explanation locks = explained({.threads = 8, .locks = 0.6});
  EXPECT_EQ(locks.causes.at(0).kind, Kind::locks);
  EXPECT_NEAR(share(locks, Kind::locks), 0.6, 0.1);
}

TEST(Conclude, OneHeavyThreadIsToldFromASerialPartByTheLaw) {
  // Looks see the same of both: one thread works alone for a while.
  Evidence evidence = Script({.threads = 8, .serial = 0.2}, kQuiet, 1).evidence();
  for (Trial& trial : evidence.trials) {
    if (trial.resource != Resource::threads) continue;
    for (Level& level : trial.levels) level.slowdowns = {level.taken > 1 ? 8 / level.taken : 4};
  }
  EXPECT_EQ(conclude(evidence).causes.at(0).kind, Kind::imbalance);
}

TEST(Conclude, NamesWhoWaitsForAPipe) {
  Evidence evidence;
  evidence.observed.seconds = {1, 1, 1};
  ThreadSeen writes{.name = "gen"}, reads{.name = "wc"};
  for (int i = 0; i < 100; ++i) {
    Moment moment;
    ++moment.threads[std::size_t(Doing::running)];
    ++writes.looks[std::size_t(Doing::running)];
    const Doing doing = i % 10 < 7 ? Doing::pipe : Doing::running;
    ++moment.threads[std::size_t(doing)];
    ++reads.looks[std::size_t(doing)];
    writes.alone += doing == Doing::pipe;
    evidence.observed.moments.push_back(moment);
  }
  evidence.observed.threads = {writes, reads};
  const Explanation found = conclude(evidence);
  EXPECT_EQ(found.causes.at(0).kind, Kind::pipe);
  EXPECT_NEAR(share(found, Kind::pipe), 0.7, 1e-6);
  EXPECT_NE(found.sentences[0].find("'wc' waits for 'gen'"), std::string::npos);
}

TEST(Conclude, GivesTheLineThatWasMeasuredToHelp) {
  Evidence evidence = Script({.shares = {{Kind::faults, 0.6}}}, kQuiet, 1).evidence();
  const Explanation found = conclude(evidence);
  EXPECT_EQ(found.causes.at(0).kind, Kind::faults);
  EXPECT_EQ(found.line, "tabane run --huge-pages -- ./scripted");
  for (Trial& trial : evidence.trials)
    if (trial.resource == Resource::huge_pages) trial.levels[0].slowdowns = {1.0};
  EXPECT_EQ(conclude(evidence).line, "");
}

TEST(Conclude, SaysThatRunsDiffer) {
  const auto last = [](double noise) {
    return conclude(Script({}, {.noise = noise}, 3).evidence()).sentences.back();
  };
  EXPECT_EQ(last(0.01).find("Equal runs differ"), std::string::npos);
  EXPECT_EQ(last(0.2).find("Equal runs differ"), 0u) << last(0.2);
}

TEST(Conclude, NamesWhatWasNotTriedAndKeepsToTwelveLines) {
  Evidence evidence =
      Script({.shares = {{Kind::bandwidth, 0.3}, {Kind::cache, 0.2}, {Kind::faults, 0.2}},
              .set_bytes = 12 * kMiB,
              .threads = 8,
              .serial = 0.1,
              .locks = 0.2},
             kQuiet, 1)
          .evidence();
  evidence.trials.push_back({.resource = Resource::remote, .untried = "there is one NUMA node"});
  for (int i = 0; i < 3; ++i) evidence.notes.push_back("Another reason to be careful.");
  const Explanation found = conclude(evidence);
  std::size_t lines = 0;
  for (const std::string& sentence : found.sentences) lines += 1 + sentence.size() / 100;
  EXPECT_LE(lines, 12u);
  const std::size_t rest = found.sentences.size() - 4;  // before the notes
  EXPECT_NE(found.sentences[rest].find("remote memory (there is one NUMA node)"),
            std::string::npos);
}

// ---- hundreds of commands with noise of 3 % and no more than 25 runs each ----

struct Case {
  std::string what;
  ScriptedCommand command;
};

std::vector<Case> hundred(std::uint64_t seed) {
  core::SplitMix64 random(seed);
  const auto between = [&](double low, double high) { return low + (high - low) * random.unit(); };
  constexpr Kind kOfOne[] = {Kind::bandwidth, Kind::cache, Kind::computing, Kind::latency,
                             Kind::faults,    Kind::disk,  Kind::pipe};
  std::vector<Case> all;
  for (int i = 0; i < 100; ++i) {
    const bool mixture = i % 3 == 2;
    ScriptedCommand command;
    std::string what;
    const auto of_one = [&](Kind kind, double share) {
      what += fmt::format("{} {:.2f} ", name_of(kind), share);
      if (kind != Kind::computing) command.shares[kind] = share;
      if (kind == Kind::cache) {
        command.set_bytes = between(6, 28) * kMiB;
        command.in_order = random.below(2) == 0;
        command.memory_over_cache = between(10, 14);
      }
    };
    const std::uint64_t which = random.below(10);
    if (which < 7) {
      of_one(kOfOne[which], mixture ? between(0.55, 0.65) : between(0.75, 1));
      const Kind second = kOfOne[(which + 1 + random.below(6)) % 7];
      if (mixture && second != Kind::computing) of_one(second, between(0.2, 0.3));
    } else {
      command.threads = 8;
      if (which == 7) command.locks = mixture ? between(0.25, 0.35) : between(0.6, 0.8);
      if (which == 8 || mixture) command.serial = mixture ? 0.02 : between(0.2, 0.6);
      const double least = mixture ? 1.2 : 2.4;
      while (which == 9 && command.unevenness(8) < least) {
        command.work.clear();
        for (int k = 0; k < 8; ++k)
          command.work.push_back(std::pow(between(0.2, 1), mixture ? 1 : 3));
        const double sum = std::accumulate(command.work.begin(), command.work.end(), 0.0);
        for (double& own : command.work) own *= 8 / sum;
      }
      what = fmt::format("team: locks {:.2f} serial {:.2f} uneven {:.2f}", command.locks,
                         command.serial, command.unevenness(8));
    }
    all.push_back({what, command});
  }
  return all;
}

struct Score {
  int commands = 0, main_right = 0, false_causes = 0;
  int shares = 0, shares_right = 0;  // of those of 10 % and more
  int sets = 0, sets_right = 0;
  std::string wrong = {};
};

void judge(const Case& one, const Explanation& found, Score& score) {
  const auto truth = one.command.truth();
  const auto greatest = std::ranges::max_element(truth, {}, [](const auto& cause) {
    return Cause{.kind = cause.first, .share = cause.second}.won();
  });
  const std::string main = found.causes.empty() ? "nothing" : name_of(found.causes[0].kind);
  std::string remark;
  ++score.commands;
  if (main == name_of(greatest->first))
    ++score.main_right;
  else
    remark = " MAIN " + main;
  for (const Cause& cause : found.causes) {
    const auto at = truth.find(cause.kind);
    if (at != truth.end() && at->second >= 0.03) continue;
    ++score.false_causes;
    remark += fmt::format(" FALSE {}", name_of(cause.kind));
  }
  for (const auto& [kind, value] : truth) {
    if (value < 0.1) continue;
    ++score.shares;
    if (std::abs(share(found, kind) - value) <= 0.1)
      ++score.shares_right;
    else
      remark += fmt::format(" {} {:.2f} for {:.2f}", name_of(kind), share(found, kind), value);
  }
  if (one.command.set_bytes > 0) {
    ++score.sets;
    const double times = found.working_set ? found.working_set->bytes / one.command.set_bytes : 0;
    if (times >= 0.5 && times <= 2)
      ++score.sets_right;
    else
      remark += fmt::format(" SET {:.2f} times", times);
  }
  if (!remark.empty()) score.wrong += fmt::format("{}:{}\n", one.what, remark);
}

TEST(Conclude, IsRightAboutHundredsOfCommands) {
  Score score;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    for (const Case& one : hundred(seed)) {
      const ScriptedMachine machine{.thieves_take_cache = score.commands % 4 == 1};
      const std::uint64_t number = 1000 * seed + static_cast<std::uint64_t>(score.commands);
      judge(one, conclude(Script(one.command, machine, number).evidence()), score);
    }
  }
  const std::string all =
      fmt::format("main {} of {}, shares {} of {}, sets {} of {}, false causes {}\n{}",
                  score.main_right, score.commands, score.shares_right, score.shares,
                  score.sets_right, score.sets, score.false_causes, score.wrong);
  RecordProperty("found", all);
  EXPECT_GE(score.main_right, score.commands * 95 / 100) << all;
  EXPECT_GE(score.shares_right, score.shares * 90 / 100) << all;
  EXPECT_GE(score.sets_right, score.sets * 95 / 100) << all;
  EXPECT_LE(score.false_causes, score.commands * 5 / 100) << all;
}

}  // namespace
}  // namespace tabane::lab::explain
