// The chooser against plain successive halving at equal cost; tabane/team/chooser.md has the
// results.
#ifndef __SANITIZE_THREAD__  // it computes for long, and nothing forks or has threads

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tabane/core/statistics.h"
#include "tabane/team/choose.h"
#include "tabane/team/halving_test.h"
#include "tabane/team/law_families_test.h"

namespace tabane::team {
namespace {

// Relative to the true optimum: 0.1 if the chosen shape takes 10 % longer.
using Regrets = std::map<std::string, std::vector<double>>;  // by entrant

// Halving may spend what the chooser spent in the same case, half of it, and twice.
void race(const Case& one, std::uint64_t seed, const Limits& limits, Regrets& regrets) {
  const auto note = [&](const std::string& name, Shape shape) {
    LawExperiment exact(*one.machine, one.law);
    regrets[name].push_back(exact.true_seconds(shape) / one.optimum.seconds - 1);
  };
  LawExperiment experiment(*one.machine, one.law, seed);
  note("chooser", choose_on(*one.machine, one.law.n, experiment, limits).shape);
  for (const Candidates candidates : {Candidates::all, Candidates::ladder}) {
    const std::string name = candidates == Candidates::all ? "halving, all" : "halving, ladder";
    for (const auto& [cost, factor] : {std::pair{" 0.5x", 0.5}, {" 1x", 1.0}, {" 2x", 2.0}}) {
      LawExperiment same(*one.machine, one.law, seed);
      note(name + cost, choose_by_halving(*one.machine, one.law.n, same,
                                          factor * experiment.asked_seconds(), candidates));
    }
  }
}

double share_within(const std::vector<double>& regrets, double most) {
  return double(std::count_if(regrets.begin(), regrets.end(),
                              [&](double regret) { return regret <= most; })) /
         double(regrets.size());
}

void print(const std::string& title, const Regrets& regrets) {
  std::printf("%s\n", title.c_str());
  for (const auto& [name, values] : regrets) {
    std::printf(
        "  %-20s %4zu cases  median %5.1f %%  90 %% %6.1f %%  worst %7.1f %%  within 5 %% %3.0f %% "
        " "
        "10 %% %3.0f %%\n",
        name.c_str(), values.size(), 100 * core::median(values), 100 * core::quantile(values, 0.9),
        100 * core::quantile(values, 1), 100 * share_within(values, 0.05),
        100 * share_within(values, 0.1));
  }
}

int number_from(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

struct Setting {
  const char* name;
  double noise = 0, disturbed = 0;
  Limits limits = {};
};

Regrets race_all(const Setting& setting, std::initializer_list<Synthetic> machines, int draws,
                 unsigned seed) {
  std::mt19937_64 random(seed);
  Regrets regrets;
  for (const Family& family : families()) {
    for (const Synthetic which : machines) {
      for (int draw = 0; draw < draws; ++draw) {
        Case one = draw_case(family, which, random);
        one.law.noise = setting.noise;
        one.law.disturbed = setting.disturbed;
        race(one, random(), setting.limits, regrets);
      }
    }
  }
  return regrets;
}

TEST(ChooserRace, LeavesLessRegretThanSuccessiveHalvingAtTheSameAndAtTwiceTheCost) {
  const Regrets regrets = race_all({.name = "", .noise = 0.02}, {Synthetic::pus_72}, 6, 2027);
  const std::vector<double>& chooser = regrets.at("chooser");
  EXPECT_LT(core::median(chooser), 0.02);
  EXPECT_GE(share_within(chooser, 0.1), 0.8);
  for (const auto& [name, halving] : regrets) {
    if (name == "chooser") continue;
    EXPECT_LT(core::median(chooser), core::median(halving)) << name;
    EXPECT_LT(core::quantile(chooser, 0.9), core::quantile(halving, 0.9)) << name;
    EXPECT_GT(share_within(chooser, 0.05), share_within(halving, 0.05)) << name;
  }
}

// RACE_DRAWS: draws of each family on each machine. RACE_SEED: other laws and noise.
TEST(ChooserRace, DISABLED_PrintsTheTableOfTheDocs) {
  const Limits long_sample{.most_sample_share = 10, .most_sample_seconds = 200};
  for (const Setting& setting :
       {Setting{"default budget, no noise"}, Setting{"default budget, noise 2 %", 0.02},
        Setting{"default budget, noise 5 %", 0.05},
        Setting{"default budget, noise 5 %, one run in 20 takes twice as long", 0.05, 0.05},
        Setting{"long sample, noise 2 %", 0.02, 0, long_sample}}) {
    print(setting.name,
          race_all(setting, {Synthetic::pus_72, Synthetic::pus_512}, number_from("RACE_DRAWS", 10),
                   static_cast<unsigned>(number_from("RACE_SEED", 1))));
  }
}

}  // namespace
}  // namespace tabane::team

#endif
