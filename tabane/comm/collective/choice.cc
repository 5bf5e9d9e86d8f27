#include "tabane/comm/collective/choice.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>

#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/units.h"

namespace tabane::comm {
namespace {

constexpr std::array<std::string_view, kSettings> kSettingNames{"memory", "crowded", "messages",
                                                                "native"};

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<std::string_view> words;
  line = line.substr(0, line.find('#'));
  for (;;) {
    const std::size_t begin = line.find_first_not_of(kBlanks);
    if (begin == line.npos) return words;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(kBlanks), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

// throws, all: core::UsageError with what is legal, without the place.
Setting parse_setting(std::string_view word) {
  for (int i = 0; i < kSettings; ++i) {
    if (word == kSettingNames[static_cast<std::size_t>(i)]) return static_cast<Setting>(i);
  }
  throw core::UsageError(
      fmt::format("no setting '{}': give memory, crowded, messages or native", word));
}

Kind parse_kind(std::string_view word) {
  std::string names;
  for (int i = 0; i < kKinds; ++i) {
    const std::string_view name = name_of(static_cast<Kind>(i));
    if (word == name) return static_cast<Kind>(i);
    names += (i == 0 ? "" : ", ");
    names += name;
  }
  throw core::UsageError(fmt::format("no collective '{}': give one of {}", word, names));
}

int parse_ranks(std::string_view word) {
  if (word == "*") return Rule::kAnyRanks;
  int ranks = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), ranks);
  if (error != std::errc() || end != word.data() + word.size() || ranks < 1) {
    throw core::UsageError(
        fmt::format("'{}' is no number of ranks: give 1 or more, or * for any", word));
  }
  return ranks;
}

std::size_t parse_bytes(std::string_view word) {
  return word == "*" ? Rule::kAnyBytes : core::parse_size(word);
}

std::size_t place_of(Setting setting, Kind kind) {
  return static_cast<std::size_t>(setting) * kKinds + static_cast<std::size_t>(kind);
}

Rule parse_rule(const std::vector<std::string_view>& words) {
  if (words.size() != 5) {
    throw core::UsageError(
        fmt::format("{} words instead of 5: setting, collective, most ranks, most bytes, algorithm",
                    words.size()));
  }
  Rule rule{parse_setting(words[0]), parse_kind(words[1]), parse_ranks(words[2]),
            parse_bytes(words[3])};
  rule.algorithm = find_algorithm(rule.kind, words[4]);
  if (rule.algorithm == nullptr) {
    throw core::UsageError(fmt::format("{} has no algorithm '{}': give one of {}",
                                       name_of(rule.kind), words[4], algorithm_names(rule.kind)));
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
  for (const Rule& rule : rules_) rules_of_[place_of(rule.setting, rule.kind)].push_back(rule);
}

ChoiceTable ChoiceTable::parse(std::string_view text, std::string_view source) {
  std::vector<Rule> rules;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string_view> words = words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty()) continue;
    try {
      rules.push_back(parse_rule(words));
    } catch (const core::UsageError& error) {
      throw core::UsageError(fmt::format("{}, line {}: {}", source, line, error.what()));
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

const Algorithm* ChoiceTable::find(const Group& group, const Call& call) const {
  for (const Rule& rule : rules_of_[place_of(setting_of(group), call.kind)]) {
    if (group.size() <= rule.most_ranks && call.bytes <= rule.most_bytes &&
        rule.algorithm->refuses(group, call) == nullptr) {
      return rule.algorithm;
    }
  }
  return nullptr;
}

const Algorithm& ChoiceTable::pick(const Group& group, const Call& call) const {
  const Algorithm* algorithm =
      call.reproducible ? reproducible_choice().find(group, call) : find(group, call);
  if (algorithm == nullptr) algorithm = default_choice()->find(group, call);
  TABANE_ASSERT(algorithm != nullptr);
  return *algorithm;
}

}  // namespace tabane::comm
