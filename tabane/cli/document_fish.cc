#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tabane/cli/document_parts.h"
#include "tabane/cli/documents.h"
#include "tabane/cli/options.h"

namespace tabane::cli {
namespace {

std::string fish_quoted(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted;
}

// True where the words typed so far end at this verb.
std::string fish_condition(const Verb& verb) {
  std::string condition;
  std::string rest = verb.path;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    condition += (condition.empty() ? "" : "; and ") +
                 fmt::format("__fish_seen_subcommand_from {}", rest.substr(0, end));
    rest.erase(0, end + 1);
  }
  if (verb.path.empty()) return "__fish_use_subcommand";
  const std::vector<std::string> below = names_below(*verb.app);
  if (!below.empty())
    condition += fmt::format("; and not __fish_seen_subcommand_from {}", fmt::join(below, " "));
  return condition;
}

std::string fish_values(const OptionText& option) {
  const Values values = values_of(option);
  if (values == Values::none || option.value_optional) return "";
  if (values == Values::names) return fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
  if (values == Values::directories) return " -x -a '(__fish_complete_directories)'";
  return values == Values::files ? " -r -F" : " -x";
}

std::string fish_option(const std::string& begin, const OptionText& option) {
  std::string text = begin;
  for (const std::string& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  return text + fmt::format("{} -d '{}'\n", fish_values(option), fish_quoted(option.what));
}

}  // namespace

std::string fish_completion(const CLI::App& app) {
  std::string text =
      "# fish completion for tabane, made from its command line\ncomplete -c tabane -f\n";
  for (const Verb& verb : all_verbs(app)) {
    const std::string begin = fmt::format("complete -c tabane -n '{}'", fish_condition(verb));
    text += "\n";
    for (const CLI::App* each : verbs_of(*verb.app)) {
      text += fmt::format("{} -a {} -d '{}'\n", begin, each->get_name(),
                          fish_quoted(each->get_description()));
    }
    for (const OptionText& option : options_of(*verb.app)) text += fish_option(begin, option);
    if (takes(*verb.app, Values::files)) text += begin + " -F\n";
    if (takes(*verb.app, Values::commands))
      text += begin + " -a '(__fish_complete_subcommand --fcs-skip=2)'\n";
  }
  return text;
}

}  // namespace tabane::cli
