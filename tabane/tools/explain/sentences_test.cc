#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tabane/program/layout.h"
#include "tabane/tools/explain/scripted_commands_test.h"

namespace tabane::lab::explain {
namespace {

// What says something of a resource, outside of the lists at the end.
const std::map<Resource, std::vector<std::string>> kWords = {
    {Resource::bandwidth,
     {"bound by memory bandwidth", "single loads from memory, one", " of memory bandwidth, of",
      "of the memory bandwidth gone"}},
    {Resource::cache,
     {"bound by the shared cache", "uses the shared cache", "of the shared cache gone"}},
    {Resource::units, {"with neighbours that compute"}},
    {Resource::cpu_time, {"It computes for", " of processor time gone"}},
    {Resource::disk, {"with a neighbour that writes"}},
    {Resource::cold, {"with files that are not in memory"}},
    {Resource::remote, {"with memory on another NUMA node"}},
    {Resource::threads,
     {"from more than ", "With 1 thread ", " threads it is ", "It is fastest with"}},
    {Resource::huge_pages, {"Huge pages make", "with huge pages"}},
    {Resource::allocator, {"jemalloc"}},
    {Resource::local, {"One NUMA node makes", "on one NUMA node"}}};

// What it is called where only the names of causes are listed.
const std::map<Resource, std::vector<std::string>> kNames = {
    {Resource::bandwidth, {"memory bandwidth", "memory latency"}},
    {Resource::cache, {"shared cache"}},
    {Resource::cpu_time, {"computing"}}};

bool has_any(const std::string& sentence, const std::vector<std::string>& words) {
  return std::ranges::any_of(
      words, [&](const std::string& each) { return sentence.find(each) != std::string::npos; });
}

// The places in which the answer says something of it: "none", "untried", "told".
std::vector<std::string> places_of(Resource resource, const Explanation& found) {
  std::vector<std::string> places;
  int causes = 0;
  for (const std::string& sentence : found.sentences) {
    if (sentence.starts_with("    ")) continue;  // the line
    const bool named = has_any(sentence, {name_of(resource)});
    const bool told = has_any(sentence, kWords.at(resource));
    if (sentence.starts_with("No effect was seen of: ")) {
      if (named) places.emplace_back("none");
    } else if (sentence.starts_with("Not tried: ")) {
      if (named) places.emplace_back("untried");
    } else if (sentence.starts_with("Other effects, none clearly a cause: ")) {
      if (named || told) places.emplace_back("told");
    } else if (sentence.starts_with("Other causes: ")) {
      causes += kNames.contains(resource) && has_any(sentence, kNames.at(resource));
    } else if (told) {
      causes += kNames.contains(resource);
      if (!kNames.contains(resource)) places.emplace_back("told");
    }
  }
  // Bandwidth and single loads are two causes. That a command computes is also seen where no
  // processor time was taken.
  const bool untried = std::ranges::count(places, "untried") > 0;
  if (causes > 0 && !(resource == Resource::cpu_time && untried)) places.emplace_back("told");
  if (resource != Resource::bandwidth && causes > 1) places.emplace_back("told twice");
  return places;
}

// A command of one thread or a team, with one to two causes.
ScriptedCommand any_command(core::SplitMix64& random) {
  constexpr Kind kCauses[] = {Kind::bandwidth, Kind::cache, Kind::latency,
                              Kind::faults,    Kind::disk,  Kind::pipe};
  ScriptedCommand command{.set_bytes = (4 + 20 * random.unit()) * kMiB};
  command.shares[kCauses[random.below(6)]] = random.unit() / 2;
  command.shares[kCauses[random.below(6)]] = random.unit() / 2;
  if (random.below(3) == 0) {
    command.shares = {};
    command.threads = 8;
    command.serial = random.unit() / 4;
    command.locks = random.unit() / 2;
  }
  return command;
}

// Each trial may differ from what the command would do: no cause has to follow from it.
void disturb(Trial& trial, core::SplitMix64& random) {
  const std::uint64_t how = random.below(12);
  const double factor = how == 0 ? 0.5 + random.unit() / 2 : 1 + random.unit();
  if (trial.resource == Resource::threads && !trial.levels.empty()) {
    trial.levels[random.below(trial.levels.size() - 1)].slowdowns = {factor};
  } else if (how == 2) {
    trial = {.resource = trial.resource, .untried = "it could not be"};
  } else if (how == 3 && trial.resource == Resource::cache) {
    for (Level& level : trial.levels) level.own_speed = 0.4;
  } else if (how < 2 || how == 4) {  // all levels, or one of them
    const std::size_t one = random.below(trial.levels.size());
    for (Level& level : trial.levels)
      for (double& slowdown : level.slowdowns)
        if (how < 2 || &level == &trial.levels[one]) slowdown *= factor;
  }
}

TEST(Sentences, NameEachResourceInOnePlace) {
  std::map<std::string, int> seen;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    core::SplitMix64 random(seed);
    Evidence evidence =
        Script(any_command(random), {.thieves_take_cache = seed % 4 == 0}, seed).evidence();
    for (const Resource also : {Resource::disk, Resource::remote, Resource::local})
      evidence.trials.push_back({.resource = also, .levels = {{1, {1 + 0.1 * random.unit()}}}});
    for (Trial& trial : evidence.trials)
      if (!trial.levels.empty()) disturb(trial, random);
    const Explanation found = conclude(evidence);
    std::string text;
    for (const std::string& sentence : found.sentences)
      text += program::wrap_text(sentence, 100) + '\n';
    EXPECT_LE(std::ranges::count(text, '\n'), 12) << text;
    for (const Trial& trial : evidence.trials) {
      const std::vector<std::string> places = places_of(trial.resource, found);
      EXPECT_EQ(places.size(), 1u) << seed << ": " << name_of(trial.resource) << '\n' << text;
      if (places.empty()) continue;
      ++seen[fmt::format("{} {}", name_of(trial.resource), places[0])];
      EXPECT_EQ(places[0] == "untried", find_trial(evidence, trial.resource) == nullptr) << text;
      if (places[0] != "none") continue;
      for (const Level& level : trial.levels) {
        const bool shown = tells(trial.resource, level);
        const Effect effect = shown ? found.effect_of(level, trial.resource) : Effect{};
        EXPECT_FALSE(effect.slower() || effect.faster()) << seed << '\n' << text;
      }
    }
  }
  seen["threads none"] = 1;  // of some number it is always said
  for (const auto& [resource, words] : kWords) {
    for (const char* const place : {"none", "untried", "told"}) {
      const std::string both = fmt::format("{} {}", name_of(resource), place);
      EXPECT_GT(seen[both], 0) << both;
    }
  }
}

}  // namespace
}  // namespace tabane::lab::explain
