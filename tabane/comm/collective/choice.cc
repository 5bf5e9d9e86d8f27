#include "tabane/comm/collective/choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <sstream>

#include "tabane/comm/collective/algorithm.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/units.h"

namespace tabane::comm {
namespace {

constexpr std::string_view kDefaultRules =
#include "tabane/comm/collective/default.rules"
    ;
constexpr std::string_view kReproducibleRules =
#include "tabane/comm/collective/reproducible.rules"
    ;

// By operation, in the order of Kind.
std::vector<Algorithm> join_tables() {
  std::vector<Algorithm> all;
  for (const auto table :
       {barrier_algorithms, broadcast_algorithms, reduce_algorithms, all_reduce_algorithms,
        scatter_algorithms, gather_algorithms, all_gather_algorithms, all_to_all_algorithms,
        scan_algorithms, reduce_scatter_algorithms}) {
    const std::span<const Algorithm> of_one = table();
    all.insert(all.end(), of_one.begin(), of_one.end());
  }
  std::ranges::stable_sort(all, {}, &Algorithm::kind);
  return all;
}

}  // namespace

std::span<const Algorithm> algorithms() {
  static const std::vector<Algorithm> all = join_tables();
  return all;
}

const Algorithm* find_algorithm(Kind kind, std::string_view name) {
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.kind == kind && algorithm.name == name) return &algorithm;
  }
  return nullptr;
}

std::string algorithm_names(Kind kind) {
  std::string names;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.kind != kind) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", algorithm.name);
  }
  return names;
}

namespace {

constexpr std::array<std::string_view, kSettings> kSettingNames{"memory", "crowded", "messages",
                                                                "native"};

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream in{std::string(line.substr(0, line.find('#')))};
  return {std::istream_iterator<std::string>(in), {}};
}

// throws, all: core::UsageError with what is legal, without the place.
Setting parse_setting(std::string_view word) {
  const auto found = std::ranges::find(kSettingNames, word);
  if (found != kSettingNames.end()) return static_cast<Setting>(found - kSettingNames.begin());
  throw core::UsageError("no setting '{}': give memory, crowded, messages or native", word);
}

Kind parse_kind(std::string_view word) {
  std::string names;
  for (int i = 0; i < kKinds; ++i) {
    const std::string_view name = name_of(static_cast<Kind>(i));
    if (word == name) return static_cast<Kind>(i);
    names += fmt::format("{}{}", i == 0 ? "" : ", ", name);
  }
  throw core::UsageError("no collective '{}': give one of {}", word, names);
}

int parse_ranks(std::string_view word) {
  if (word == "*") return Rule::kAnyRanks;
  const std::optional<int> ranks = core::number_in<int>(word);
  if (!ranks || *ranks < 1) {
    throw core::UsageError("'{}' is no number of ranks: give 1 or more, or * for any", word);
  }
  return *ranks;
}

std::size_t parse_bytes(std::string_view word) {
  return word == "*" ? Rule::kAnyBytes : core::parse_size(word);
}

std::size_t index_of(Setting setting, Kind kind) {
  return static_cast<std::size_t>(setting) * kKinds + static_cast<std::size_t>(kind);
}

Rule parse_rule(const std::vector<std::string>& words) {
  if (words.size() != 5) {
    throw core::UsageError(
        "{} words instead of 5: setting, collective, most ranks, most bytes, algorithm",
        words.size());
  }
  Rule rule{parse_setting(words[0]), parse_kind(words[1]), parse_ranks(words[2]),
            parse_bytes(words[3])};
  rule.algorithm = find_algorithm(rule.kind, words[4]);
  if (rule.algorithm == nullptr) {
    throw core::UsageError("{} has no algorithm '{}': give one of {}", name_of(rule.kind), words[4],
                           algorithm_names(rule.kind));
  }
  return rule;
}

}  // namespace

std::string_view name_of(Setting setting) {
  return kSettingNames[static_cast<std::size_t>(setting)];
}

Setting setting_of(const Group& group) {
  if (group.transport().collectives() != nullptr) return Setting::native;
  if (group.board() == nullptr) return Setting::messages;
  return group.transport().crowded() ? Setting::crowded : Setting::memory;
}

ChoiceTable::ChoiceTable(std::vector<Rule> rules) : rules_(std::move(rules)) {
  for (const Rule& rule : rules_) rules_of_[index_of(rule.setting, rule.kind)].push_back(rule);
}

ChoiceTable ChoiceTable::parse(std::string_view text, std::string_view source) {
  std::vector<Rule> rules;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string> words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty()) continue;
    try {
      rules.push_back(parse_rule(words));
    } catch (const core::UsageError& error) {
      throw core::UsageError("{}, line {}: {}", source, line, error.what());
    }
  }
  return ChoiceTable(std::move(rules));
}

std::shared_ptr<const ChoiceTable> ChoiceTable::read(const std::string& file) {
  return std::make_shared<const ChoiceTable>(parse(core::read_file(file), file));
}

std::string ChoiceTable::format() const {
  std::string text = "# setting  collective  most ranks  most bytes  algorithm\n";
  for (const Rule& rule : rules_) {
    const std::string ranks =
        rule.most_ranks == Rule::kAnyRanks ? "*" : std::to_string(rule.most_ranks);
    const std::string bytes =
        rule.most_bytes == Rule::kAnyBytes ? "*" : std::to_string(rule.most_bytes);
    text += fmt::format("{:<10} {:<11} {:<11} {:<11} {}\n", name_of(rule.setting),
                        name_of(rule.kind), ranks, bytes, rule.algorithm->name);
  }
  return text;
}

const Algorithm* ChoiceTable::find(const Group& group, const Call& call, bool in_order) const {
  for (const Rule& rule : rules_of_[index_of(setting_of(group), call.kind)]) {
    if (in_order && !rule.algorithm->in_order) continue;
    if (group.size() <= rule.most_ranks && call.bytes <= rule.most_bytes &&
        rule.algorithm->refuses(group, call) == nullptr) {
      return rule.algorithm;
    }
  }
  return nullptr;
}

const Algorithm& ChoiceTable::pick(const Group& group, const Call& call) const {
  const Algorithm* algorithm = nullptr;
  if (!call.reproducible) {
    algorithm = find(group, call);
  } else {
    if (this != default_choice().get()) algorithm = find(group, call, true);
    if (algorithm == nullptr) algorithm = reproducible_choice().find(group, call);
  }
  if (algorithm == nullptr) algorithm = default_choice()->find(group, call);
  TABANE_ASSERT(algorithm != nullptr);
  return *algorithm;
}

// In order only; of two values there is one order. The settings do not matter for the bits.
const ChoiceTable& reproducible_choice() {
  static const ChoiceTable table =
      ChoiceTable::parse(kReproducibleRules, "reproducible choice of algorithms");
  return table;
}

const std::shared_ptr<const ChoiceTable>& default_choice() {
  static const auto table = std::make_shared<const ChoiceTable>(
      ChoiceTable::parse(kDefaultRules, "built-in choice of algorithms"));
  return table;
}

// --- sets of mechanisms ---

namespace {

struct ByMessages {
  Kind kind;
  std::string_view algorithm;
  bool Mechanisms::*mechanism;  // with it the built-in rules decide
};
// Of two of a kind, the second is for calls that must be reproducible.
constexpr ByMessages kByMessages[] = {
    {Kind::broadcast, "binomial", &Mechanisms::broadcast},
    {Kind::reduce, "tree", &Mechanisms::global},
    {Kind::reduce, "linear", &Mechanisms::global},
    {Kind::all_reduce, "tree", &Mechanisms::global},
    {Kind::all_reduce, "linear", &Mechanisms::global},
    {Kind::scan, "doubling", &Mechanisms::global},
    {Kind::scan, "linear", &Mechanisms::global},
    {Kind::exscan, "doubling", &Mechanisms::global},
    {Kind::exscan, "linear", &Mechanisms::global},
    {Kind::reduce_scatter, "pairwise", &Mechanisms::global},
    {Kind::scatter, "polling", &Mechanisms::gather},
    {Kind::scatter_varying, "polling", &Mechanisms::gather},
    {Kind::gather, "polling", &Mechanisms::gather},
    {Kind::gather_varying, "polling", &Mechanisms::gather},
    {Kind::all_gather, "ring", &Mechanisms::gather},
    {Kind::all_gather_varying, "ring", &Mechanisms::gather},
    {Kind::all_to_all, "pairwise", &Mechanisms::gather},
    {Kind::barrier, "messages", &Mechanisms::barrier},
};
constexpr std::array<Mechanisms, kMechanismNames.size()> kNamedMechanisms{
    {{}, {.broadcast = true}, {.broadcast = true, .global = true}, {true, true, true, true}}};

}  // namespace

Mechanisms mechanisms_named(std::string_view name) {
  const auto found = std::ranges::find(kMechanismNames, name);
  if (found == kMechanismNames.end()) {
    throw core::UsageError("there are no mechanisms \"{}\": say {}", name,
                           fmt::join(kMechanismNames, ", "));
  }
  return kNamedMechanisms[static_cast<std::size_t>(found - kMechanismNames.begin())];
}

std::string rules_of(const Mechanisms& mechanisms) {
  std::string text;
  for (int setting = 0; setting < kSettings; ++setting) {
    for (const ByMessages& rule : kByMessages) {
      if (mechanisms.*rule.mechanism) continue;
      text += fmt::format("{} {} * * {}\n", name_of(static_cast<Setting>(setting)),
                          name_of(rule.kind), rule.algorithm);
    }
  }
  return text;
}

}  // namespace tabane::comm
