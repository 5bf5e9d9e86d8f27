#include "tabane/cli/wrong_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

#include "tabane/cli/options.h"

namespace tabane::cli {
namespace {

std::string names_of_verbs(const CLI::App& verb) {
  std::string names;
  for (const CLI::App* each : verbs_of(verb)) {
    names += (names.empty() ? "" : ", ") + each->get_name();
  }
  return names;
}

// The verb as far as it was understood, and how it was typed.
std::pair<const CLI::App*, std::string> understood(const CLI::App& app) {
  const CLI::App* verb = &app;
  std::string typed = "tabane";
  while (!verb->get_subcommands().empty()) {
    verb = verb->get_subcommands().front();
    typed += " " + verb->get_name();
  }
  return {verb, typed};
}

// A word that was meant as a value, after a blank: of --json, or a further one of a list.
std::string advice_for(const CLI::App& verb, const std::string& word,
                       const std::vector<std::string>& arguments) {
  const auto json = std::ranges::find(arguments, "--json");
  if (json != arguments.end() && json + 1 != arguments.end() && !(json + 1)->starts_with('-')) {
    return fmt::format("; --json takes its file after '=': --json={}", *(json + 1));
  }
  const auto here = std::ranges::find(arguments, word);
  if (here - arguments.begin() < 2) return "";
  const std::string flag = (here - 2)->substr(0, (here - 2)->find('='));
  const CLI::Option* option = verb.get_option_no_throw(flag);
  if (option == nullptr || option->get_delimiter() != ',') return "";
  return fmt::format("; several values are separated by commas: {} {},{}", flag, *(here - 1), word);
}

std::string there_is_no(const CLI::App& app, const CLI::App& verb,
                        const std::vector<std::string>& arguments) {
  const std::vector<std::string> unknown = app.remaining(true);
  if (unknown.empty()) return "there is an argument too many";
  const std::string& word = unknown.front();
  const std::string advice = advice_for(verb, word, arguments);
  if (word.starts_with('-')) return fmt::format("there is no option '{}'{}", word, advice);
  const std::string verbs = names_of_verbs(verb);
  if (!verbs.empty()) return fmt::format("there is no '{}'; legal are {}", word, verbs);
  return fmt::format("'{}' is an argument too many{}", word, advice);
}

// CLI11's sentences, where ours is clearer: the parts that matter, and where they go. Matching
// recurs for every character, and an argument may be of any length.
std::string in_our_words(const std::string& sentence) {
  constexpr std::size_t kLongest = 4096;
  if (sentence.size() > kLongest) return sentence;
  static const std::pair<std::regex, std::string> kWords[] = {
      {std::regex("(.*) is required"), "$1 is missing"},
      {std::regex("(.*) excludes (.*)"), "$1 and $2 exclude each other"},
      {std::regex("Could not convert: (-.,)?(.*) = (.*)"), "$2: '$3' is not a number"},
      {std::regex("(.*): 1 required (.*) missing"), "$1: its $2 is missing"},
      {std::regex("(.*): Value (.*) not in range 0\\.0* to .{100,}"), "$1: '$2' is not above 0"},
      {std::regex("(.*): Value (.*) not in range (.*) to (.*)"),
       "$1: '$2' is not between $3 and $4"},
  };
  for (const auto& [theirs, ours] : kWords) {
    if (std::regex_match(sentence, theirs)) return std::regex_replace(sentence, theirs, ours);
  }
  return sentence;
}

}  // namespace

std::string wrong_arguments(const CLI::App& app, const CLI::ParseError& error,
                            const std::vector<std::string>& arguments) {
  const auto [verb, typed] = understood(app);
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const bool no_verb =
      dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !verbs_of(*verb).empty();
  std::string text = extra || (no_verb && !app.remaining(true).empty())
                         ? there_is_no(app, *verb, arguments)
                     : no_verb ? fmt::format("NAME is missing; legal are {}", names_of_verbs(*verb))
                               : in_our_words(error.what());
  while (text.ends_with('\n') || text.ends_with('.')) text.pop_back();
  return fmt::format("{}: {}; see '{} --help'", typed, text, typed);
}

}  // namespace tabane::cli
