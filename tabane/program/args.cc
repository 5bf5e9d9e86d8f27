#include "tabane/program/args.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <type_traits>
#include <utility>

namespace tabane::program {
namespace {

using core::UsageError;

// ---- values ----

template <class Number>
std::string bounds_text(const Bounds& range, bool too_large) {
  using Limits = std::numeric_limits<Number>;
  const bool no_most = range.most == Bounds{}.most;
  const double least = std::is_integral_v<Number> ? std::ceil(range.least) : range.least;
  if (range.least == kAboveZero.least && no_most && !too_large) return " above 0";
  return fmt::format(" between {} and {}",
                     range.least == Bounds{}.least ? Limits::lowest() : Number(least),
                     no_most ? Limits::max() : Number(range.most));
}

template <class Number>
Number number_of(const std::string& text, const Bounds& range) {
  // std::from_chars() knows no '+'.
  const bool has_plus = text.size() > 1 && text[0] == '+' && text[1] != '-';
  const char* const begin = text.data() + (has_plus ? 1 : 0);
  const char* const end = text.data() + text.size();
  const bool is_bounded = range.least != Bounds{}.least || range.most != Bounds{}.most;
  double value = 0;
  const auto refuse = [&](const char* what, bool bounded) {
    const bool too_large = value > static_cast<double>(std::numeric_limits<Number>::max());
    throw UsageError("'{}' is not{}{}", text, what,
                     bounded ? bounds_text<Number>(range, too_large) : "");
  };
  const auto [all, wrong] = std::from_chars(begin, end, value);
  const bool out_of_range = wrong == std::errc::result_out_of_range;
  if (out_of_range) value = std::strtod(begin, nullptr);  // tells the tiny from the huge
  const bool too_large = out_of_range && std::isinf(value);
  if (all != end || (wrong != std::errc() && !out_of_range) ||
      (!std::isfinite(value) && (is_bounded || std::is_integral_v<Number>)))
    refuse(" a number", is_bounded);
  if (!std::isfinite(value) && !too_large)
    return Number(value);  // judged by whoever declared no range
  const bool fits = value >= static_cast<double>(std::numeric_limits<Number>::lowest());
  if (too_large || !fits || value < range.least || value > range.most) refuse("", true);
  if constexpr (!std::is_integral_v<Number>) {
    return value;
  } else {
    Number number{};
    const auto [rest, error] = std::from_chars(begin, end, number);
    if (error == std::errc::result_out_of_range) refuse("", true);
    if (error != std::errc() || rest != end)
      refuse(std::trunc(value) == value ? " a whole number in digits" : " a whole number",
             is_bounded);
    return number;
  }
}

bool truth_of(const std::string& text) {
  try {
    return CLI::detail::to_flag_value(text) > 0;
  } catch (const std::exception&) {
    throw UsageError("'{}' is neither true nor false", text);
  }
}

void check_choice(const Rules& rules, const std::string& word) {
  if (rules.choices.empty() || std::ranges::find(rules.choices, word) != rules.choices.end() ||
      (rules.or_also && rules.or_also(word)))
    return;
  throw UsageError("there is no '{}'; legal {} {}", word, rules.choices.size() == 1 ? "is" : "are",
                   fmt::join(rules.choices, ", "));
}

template <class T>
T value_of(const std::string& word, const Rules& rules) {
  if constexpr (std::is_same_v<T, bool>) {
    return truth_of(word);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return word;
  } else {
    return number_of<T>(word, rules.range);
  }
}

struct Store {
  const Words& words;
  const Rules& rules;

  void operator()(const std::function<void(const Words&)>& take) const {
    if (take) take(words);
  }
  template <class T>
  void operator()(std::vector<T>* to) const {
    to->clear();
    for (const std::string& word : words) to->push_back(value_of<T>(word, rules));
  }
  template <class T>
  void operator()(std::optional<T>* to) const {
    *to = value_of<T>(words.back(), rules);
  }
  template <class T>
  void operator()(T* to) const {
    *to = value_of<T>(words.back(), rules);
  }
};

void store(const Option& option, const Words& words) {
  try {
    for (const std::string& word : words) check_choice(option.rules, word);
    std::visit(Store{words, option.rules}, option.to);
  } catch (const UsageError& error) {
    throw UsageError("{}: {}", option.name(), error.what());
  }
}

// ---- words ----

const Option* find(const std::vector<Option>& options, const std::string& name) {
  const auto at = std::ranges::find_if(options, [&](const Option& option) {
    return std::ranges::find(option.names, name) != option.names.end() ||
           (option.is_positional() && option.value == name);
  });
  return at == options.end() ? nullptr : &*at;
}

// How many of the words behind an option are its values; none if "-c0-3" or "--cpus=0-3" holds it.
std::size_t values_behind(const std::vector<Option>& options, const std::string& word) {
  const Option* option = find(options, word);
  if (!word.starts_with("--")) {  // perhaps several letters, the first of which with a value ends
    std::size_t i = 1;
    do {
      option = find(options, "-" + word.substr(i, 1));
    } while (option != nullptr && option->is_flag() && ++i < word.size());
    if (i + 1 < word.size()) return 0;
  }
  return option == nullptr || option->is_flag() || option->value_after_equals ? 0 : option->words();
}

// Takes the user's command off the arguments: what follows "--", or else the first word that is
// neither an option nor its value, so that the command's options stay the command's.
Words take_command(const std::vector<Option>& options, Words& arguments) {
  std::size_t i = 0;
  while (i < arguments.size() && arguments[i].starts_with("-") && arguments[i] != "-" &&
         arguments[i] != "--") {
    i += 1 + values_behind(options, arguments[i]);
  }
  const auto begin = arguments.begin() + static_cast<std::ptrdiff_t>(std::min(i, arguments.size()));
  Words command(begin, arguments.end());
  if (!command.empty() && command.front() == "--") command.erase(command.begin());
  arguments.erase(begin, arguments.end());
  return command;
}

// CLI11 would take the word after a bare --json for its file, and that after --save= for its value.
// throws: core::UsageError for "-t=2".
void mark_values(const std::vector<Option>& options, Words& arguments) {
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    std::string& word = arguments[i];
    const std::size_t equals = word.find('=');
    const Option* option = word.starts_with('-') ? find(options, word.substr(0, equals)) : nullptr;
    if (option == nullptr || option->is_positional()) continue;
    if (equals == std::string::npos) {
      if (option->value_after_equals) word += "=-";
      i += values_behind(options, word);
    } else if (!word.starts_with("--")) {
      throw UsageError("{}: it is written {}", word, option->synopsis());
    } else if (equals + 1 == word.size() && !option->is_flag()) {
      if (option->value_after_equals)
        throw UsageError("{}: its {} is missing", option->name(), option->value);
      word.pop_back();
      arguments.insert(arguments.begin() + static_cast<std::ptrdiff_t>(++i), "");
    }
  }
}

// CLI11 only tells words apart: it checks and converts nothing. Lists in brackets, which it would
// take apart, are marked.
constexpr char kMark = '\1';

void unmark(Words& words) {
  for (std::string& word : words) {
    if (word.starts_with(kMark)) word.erase(0, 1);
  }
}

class Tokens {
 public:
  // throws: core::UsageError for an option whose value is missing.
  Tokens(const std::vector<Option>& options, Words arguments) {
    app_.set_help_flag();
    app_.allow_extras();
    for (const Option& option : options) {
      if (!option.rules.is_command) parsers_.emplace_back(add(option), &option);
    }
    for (std::string& word : arguments) {
      if (word.starts_with('[') || word.starts_with(kMark)) word.insert(0, 1, kMark);
    }
    std::ranges::reverse(arguments);  // as CLI11 takes a vector
    try {
      app_.parse(std::move(arguments));
    } catch (const CLI::ArgumentMismatch& error) {
      const std::string sentence = error.what();
      const Option* const option = find(options, sentence.substr(0, sentence.find(':')));
      if (option == nullptr) throw UsageError(sentence);
      const char* const is_missing = option->words() > 1 ? "it takes {}" : "its {} is missing";
      throw UsageError("{}: {}", option->name(),
                       fmt::format(fmt::runtime(is_missing), option->value));
    } catch (const CLI::ParseError& error) {
      throw UsageError(error.what());
    }
  }

  std::vector<Given::Item> items() const {
    std::vector<Given::Item> items;
    std::vector<const CLI::Option*> seen;
    for (const CLI::Option* parser : app_.parse_order()) {
      if (std::ranges::find(seen, parser) != seen.end()) continue;
      seen.push_back(parser);
      const auto own = std::ranges::find(parsers_, parser, &Parser::first);
      Words words;
      for (const std::string& word : parser->results()) {
        const Words parts = own->second->rules.commas ? split_words(word, ',') : Words{word};
        words.insert(words.end(), parts.begin(), parts.end());
      }
      unmark(words);
      items.push_back({own->second, std::move(words)});
    }
    return items;
  }

  Words unknown() const {
    Words words = app_.remaining();
    std::erase(words, "--");
    unmark(words);
    return words;
  }

 private:
  using Parser = std::pair<const CLI::Option*, const Option*>;

  CLI::Option* add(const Option& option) {
    const std::string names =
        option.is_positional() ? option.value : fmt::format("{}", fmt::join(option.names, ","));
    CLI::Option* const parser =
        !option.is_positional() && option.is_flag() ? app_.add_flag(names) : app_.add_option(names);
    if (!option.is_flag()) parser->type_size(static_cast<int>(option.words()));
    if (option.is_positional() && option.is_repeatable()) parser->expected(-1);
    return parser->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }

  CLI::App app_;
  std::vector<Parser> parsers_;
};

// ---- what is wrong ----

Words names_below(const Verb& verb) {
  Words names;
  for (const Verb* each : below(verb)) {
    if (!each->hidden) names.emplace_back(each->name);
  }
  return names;
}

// How many letters differ.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t before = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t other = before + (a[i - 1] == b[j - 1] ? 0 : 1);
      before = std::exchange(row[j], std::min({other, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row[b.size()];
}

// " (did you mean NAME?)", the name that is nearest to a word; empty: none is near.
std::string did_you_mean(const Words& names, const std::string& word) {
  constexpr std::size_t kFarthest = 2, kLongest = 64;
  if (word.size() > kLongest) return "";
  std::string nearest;
  std::size_t least = std::min(kFarthest, word.size() / 2) + 1;
  for (const std::string& name : names) {
    const std::size_t apart = word.size() > 3 && name.starts_with(word) ? 0 : distance(word, name);
    if (apart >= least) continue;
    least = apart;
    nearest = name;
  }
  return nearest.empty() ? "" : fmt::format(" (did you mean {}?)", nearest);
}

std::string advice_for_option(const std::vector<Option>& options, const std::string& word) {
  if (word == "--version" || word == "-V") return "; write tabane --version";
  const std::string name = word.substr(0, word.find('='));
  if (!name.starts_with("--")) return "";
  Words names;
  for (const Option& option : options) {
    if (!option.is_positional() && !option.rules.hidden) names.push_back(option.name());
  }
  return did_you_mean(names, name);
}

// A word that was meant as a value, after a blank: of --json, or a further one of a list.
std::string advice_for_value(const std::vector<Option>& options, const std::string& word,
                             const Words& arguments) {
  const auto json = std::ranges::find(arguments, "--json");
  const bool takes_many = std::ranges::any_of(options, [](const Option& option) {
    return option.is_positional() && option.is_repeatable();
  });
  if (find(options, "--json") && !takes_many && json != arguments.end() &&
      json + 1 != arguments.end() && !(json + 1)->starts_with('-'))
    return fmt::format("; --json takes its file after '=': --json={}", *(json + 1));
  const auto here = std::ranges::find(arguments, word);
  if (here - arguments.begin() < 2) return "";
  const std::string flag = (here - 2)->substr(0, (here - 2)->find('='));
  const Option* option = find(options, flag);
  if (option == nullptr || !option->rules.commas) return "";
  return fmt::format("; several values are separated by commas: {} {},{}", flag, *(here - 1), word);
}

void require_known(const std::vector<Option>& options, const Words& unknown, const Words& below,
                   const Words& arguments) {
  if (unknown.empty()) return;
  const std::string& word = unknown.front();
  const auto is_command = [](const Option& option) { return option.rules.is_command; };
  const bool may_be_of_command = std::ranges::any_of(options, is_command) &&
                                 std::ranges::find(arguments, "--") == arguments.end();
  const auto name = std::ranges::find_first_of(arguments, below);
  if (word.starts_with('-') && name != arguments.end())
    throw UsageError("write '{}' before '{}'", *name, word);
  if (word.starts_with('-'))
    throw UsageError(
        "there is no option '{}'{}{}", word, advice_for_option(options, word),
        may_be_of_command ? "; if it is the command's, write -- before the command" : "");
  for (const std::string& typed : below.empty() ? Words() : arguments) {
    const std::string meant = did_you_mean(below, typed);
    if (!meant.empty()) throw UsageError("there is no '{}'{}", typed, meant);
  }
  if (!below.empty())
    throw UsageError("there is no '{}'; legal are {}", word, fmt::join(below, ", "));
  throw UsageError("'{}' is an argument too many{}", word,
                   advice_for_value(options, word, arguments));
}

void require_together(const std::vector<Option>& options, const Given& given) {
  for (const Option& option : options) {
    const Words* const words = given.words(option.name());
    if (words == nullptr) {
      if (option.rules.required) throw UsageError(option.name() + " is missing");
      continue;
    }
    for (const std::string& needed : option.rules.needs) {
      if (!given.words(needed)) throw UsageError("{} requires {}", option.name(), needed);
    }
    for (const Option& other : options) {
      if (given.words(other.name()) && option.excludes(other))
        throw UsageError("{} and {} exclude each other", option.name(), other.name());
    }
  }
}

// Returns the answer of an option that has one, such as --version; it replaces the run.
std::optional<std::string> read(const std::vector<Option>& options, const Words& below,
                                Words arguments, Given& given) {
  const Words typed = arguments;
  Words command;
  const auto takes_command =
      std::ranges::find_if(options, [](const Option& option) { return option.rules.is_command; });
  if (takes_command != options.end()) command = take_command(options, arguments);
  const auto end = std::ranges::find(arguments, "--");
  const bool help = std::ranges::any_of(arguments.begin(), end, [](const std::string& word) {
    return word == "--help" || word == "-h";
  });
  if (help && options.back().rules.answer) {
    const std::string& word = arguments.front();
    if (!below.empty() && !word.starts_with('-')) require_known(options, {word}, below, typed);
    return options.back().rules.answer();
  }
  mark_values(options, arguments);
  const Tokens tokens(options, std::move(arguments));
  given.items = tokens.items();
  if (!command.empty()) given.items.push_back({&*takes_command, std::move(command)});
  for (const auto& [option, words] : given.items) {
    if (!option->rules.answer) continue;
    if (given.items.size() > 1 || !tokens.unknown().empty())
      throw UsageError("nothing goes with {}", option->name());
    return option->rules.answer();
  }
  for (const Option& option : options) {
    const Words* const words = given.words(option.name());
    if (words == nullptr) continue;
    if (words->empty()) throw UsageError("{}: its {} is missing", option.name(), option.value);
    if (!option.is_flag() && words->size() > option.words() && !option.is_repeatable())
      throw UsageError("{} is given more than once", option.name());
    store(option, *words);
  }
  require_known(options, tokens.unknown(), below, typed);
  require_together(options, given);
  return std::nullopt;
}

}  // namespace

const Verb& whole(const Verb& verb) { return verb.load ? verb.load() : verb; }

std::span<const Verb* const> below(const Verb& verb) {
  std::size_t count = 0;
  while (verb.below != nullptr && verb.below[count] != nullptr) ++count;
  return {verb.below, count};
}

Definition definition_of(const Verb& verb) {
  Definition definition = verb.define ? verb.define() : Definition{};
  definition.options.emplace_back("-h,--help", Target(), "Print this help and exit");
  return definition;
}

Call understand(const Verb& program, Words arguments) {
  // "help VERB" is "VERB --help", and so is "--help VERB".
  const bool help = !arguments.empty() &&
                    (arguments[0] == "help" || arguments[0] == "--help" || arguments[0] == "-h");
  if (help || (!arguments.empty() && arguments[0] == "--")) arguments.erase(arguments.begin());
  const Verb* verb = &program;
  Call call;
  call.given.verb = program.name;
  while (!arguments.empty()) {
    const auto next = std::ranges::find(below(*verb), arguments.front(),
                                        [](const Verb* each) { return std::string(each->name); });
    if (next == below(*verb).end()) break;
    verb = &whole(**next);
    call.given.verb += fmt::format(" {}", verb->name);
    arguments.erase(arguments.begin());
  }
  // Before what may be a command, and behind what may be a verb's name.
  const bool behind = !arguments.empty() && verb->below != nullptr;
  if (help) arguments.insert(arguments.begin() + (behind ? 1 : 0), "--help");
  call.definition = definition_of(*verb);
  const std::string name = call.given.verb;
  std::vector<Option>& options = call.definition.options;
  options.back().rules.answer = [verb, name] { return help_text(*verb, name); };
  const Words below = names_below(*verb);
  try {
    const auto misplaced = std::ranges::find_first_of(arguments, below);
    if (call.definition.run && misplaced != arguments.end())
      throw UsageError("write '{} {}' before its options", name, *misplaced);
    call.answer = read(options, below, std::move(arguments), call.given);
    if (!call.answer && !call.definition.run)
      throw UsageError("NAME is missing; legal are {}", fmt::join(below, ", "));
  } catch (const UsageError& error) {
    throw WrongArguments("{0}: {1}; see '{0} --help'", name, error.what());
  }
  return call;
}

void fill(const std::vector<Option>& options, Words arguments) {
  Given given;
  read(options, {}, std::move(arguments), given);
}

}  // namespace tabane::program
