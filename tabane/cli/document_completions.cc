#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tabane/cli/documents.h"
#include "tabane/cli/options.h"

namespace tabane::cli {
namespace {

struct Verb {
  const CLI::App* app;
  std::string path;  // "study ap1000"; empty: the program
};

// The program, its verbs and what is below them.
std::vector<Verb> all_verbs(const CLI::App& app) {
  std::vector<Verb> verbs = {{&app, ""}};
  for (std::size_t i = 0; i < verbs.size(); ++i) {
    const Verb above = verbs[i];
    for (const CLI::App* each : verbs_of(*above.app)) {
      verbs.push_back({each, above.path + (above.path.empty() ? "" : " ") + each->get_name()});
    }
  }
  return verbs;
}

std::vector<std::string> names_below(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* each : verbs_of(app)) names.push_back(each->get_name());
  return names;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const OptionText& option : options_of(app))
    flags.insert(flags.end(), option.names.begin(), option.names.end());
  return flags;
}

enum class Values { none, names, files, directories, commands, other };

Values values_of(const OptionText& text) {
  if (text.value.empty()) return Values::none;
  if (!text.choices.empty()) return Values::names;
  if (text.value == "DIR") return Values::directories;
  if (text.value.starts_with("FILE") || text.value == "IN" || text.value == "OUT")
    return Values::files;
  return text.value == "COMMAND" ? Values::commands : Values::other;
}

bool has(const CLI::App& app, Values values) {
  for (const OptionText& text : positionals_of(app)) {
    if (values_of(text) == values) return true;
  }
  return false;
}

// --------------------------------------------------------------------------------------- bash

std::string bash_words(const std::string& words) {
  return fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$current\"))", words);
}

// What may follow an option: lines of `case "$path:$previous" in`.
std::string bash_values(const Verb& verb) {
  std::string text;
  for (const OptionText& option : options_of(*verb.app)) {
    const Values values = values_of(option);
    if (values == Values::none || (option.value_optional && !option.value_after_equals)) continue;
    std::vector<std::string> patterns;
    for (const std::string& name : option.names) {
      if (!option.value_after_equals) patterns.push_back(fmt::format("'{}:{}'", verb.path, name));
      if (name.starts_with("--")) patterns.push_back(fmt::format("'{}:{}='", verb.path, name));
    }
    const std::string action =
        values == Values::names ? bash_words(fmt::format("{}", fmt::join(option.choices, " ")))
        : values == Values::directories ? "COMPREPLY=($(compgen -d -- \"$current\"))"
        : values == Values::files       ? "COMPREPLY=($(compgen -f -- \"$current\"))"
                                        : ":";
    text += fmt::format("    {})\n      {}\n      return ;;\n", fmt::join(patterns, " | "), action);
  }
  return text;
}

std::string bash_case_of_verb(const Verb& verb) {
  const std::string positional = has(*verb.app, Values::commands) ? "command"
                                 : has(*verb.app, Values::files)  ? "file"
                                                                  : "";
  return fmt::format("    '{}') names=\"{}\" flags=\"{}\" positional=\"{}\" ;;\n", verb.path,
                     fmt::join(names_below(*verb.app), " "), fmt::join(flags_of(*verb.app), " "),
                     positional);
}

constexpr const char* kBashBegin = R"(# bash completion for tabane, made from its command line
# shellcheck disable=SC2207  # names without blanks, and files as bash itself splits them
_tabane() {
  local IFS=$' \t\n' current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local path="" names="" flags="" positional="" i
  COMPREPLY=()
  # bash takes --option=value for three words.
  if [[ $current == = ]]; then
    current=""
    previous+="="
  elif [[ $previous == = ]]; then
    previous="${COMP_WORDS[COMP_CWORD - 2]}="
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$path:${COMP_WORDS[i]}" in
)";

constexpr const char* kBashMiddle = R"(      'run:--')
        positional=$([[ $i -eq $((COMP_CWORD - 1)) ]] && echo -c || echo -f)
        COMPREPLY=($(compgen "$positional" -- "$current"))
        return ;;
    esac
  done
  case "$path:$previous" in
)";

constexpr const char* kBashEnd = R"(  esac
  if [[ $current == -* || ( -z $path && -z $current ) ]]; then
    COMPREPLY=($(compgen -W "$names $flags" -- "$current"))
  elif [[ -n $names ]]; then
    COMPREPLY=($(compgen -W "$names" -- "$current"))
  elif [[ $positional == file ]]; then
    COMPREPLY=($(compgen -f -- "$current"))
  elif [[ $positional == command ]]; then
    COMPREPLY=($(compgen -c -- "$current"))
  fi
}
complete -o filenames -F _tabane tabane
)";

}  // namespace

std::string bash_completion(const CLI::App& app) {
  const std::vector<Verb> verbs = all_verbs(app);
  std::string text = kBashBegin;
  for (const Verb& verb : verbs) {
    for (const std::string& name : names_below(*verb.app)) {
      text += fmt::format("      '{}:{}') path='{}{}{}' ;;\n", verb.path, name, verb.path,
                          verb.path.empty() ? "" : " ", name);
    }
  }
  text += kBashMiddle;
  for (const Verb& verb : verbs) text += bash_values(verb);
  text += "  esac\n  case \"$path\" in\n";
  for (const Verb& verb : verbs) text += bash_case_of_verb(verb);
  return text + kBashEnd;
}

// ---------------------------------------------------------------------------------------- zsh

namespace {

std::string zsh_quoted(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == '\\' || c == ':') quoted += '\\';
      quoted += c;
    }
  }
  return quoted;
}

std::string zsh_values(const OptionText& option) {
  const Values values = values_of(option);
  if (values == Values::none) return "";
  const std::string action = values == Values::names
                                 ? fmt::format("({})", fmt::join(option.choices, " "))
                             : values == Values::directories ? "_files -/"
                             : values == Values::files       ? "_files"
                                                             : "";
  return fmt::format("{}{}:{}", option.value_optional ? "::" : ":", zsh_quoted(option.value),
                     action);
}

std::string zsh_option(const OptionText& option) {
  std::vector<std::string> apart = option.names;
  apart.insert(apart.end(), option.excludes.begin(), option.excludes.end());
  const std::string before = option.repeatable ? "*" : fmt::format("({})", fmt::join(apart, " "));
  const std::string equals = option.value_after_equals ? "=-" : "";
  const std::string rest =
      fmt::format("{}[{}]{}", equals, zsh_quoted(option.what), zsh_values(option));
  std::string text;
  for (const std::string& name : option.names) {
    text += fmt::format("    '{}{}{}' \\\n", before, name, rest);
  }
  return text;
}

std::string zsh_names(const CLI::App& app) {
  std::string text;
  for (const CLI::App* each : verbs_of(app)) {
    std::string what = zsh_quoted(each->get_description());
    text += fmt::format("{}{}\\:\"{}\"", text.empty() ? "" : " ", each->get_name(), what);
  }
  return text;
}

std::string zsh_function(const std::string& path) {
  std::string name = "_tabane";
  for (const char c : path.empty() ? "" : " " + path) name += c == ' ' ? '_' : c;
  return name;
}

std::string zsh_positionals(const CLI::App& app) {
  if (has(app, Values::commands)) return "    '*::command:_normal'\n";
  std::string text;
  int place = 0;
  for (const OptionText& each : positionals_of(app)) {
    text += fmt::format("    '{}:{}:_files' \\\n", ++place, zsh_quoted(each.value));
  }
  return text + "    && return\n";
}

std::string zsh_verb(const Verb& verb) {
  const std::string function = zsh_function(verb.path);
  std::string text = fmt::format("{}() {{\n", function);
  const bool above = !names_below(*verb.app).empty();
  if (above) text += "  local line state\n";
  text += fmt::format("  _arguments{} \\\n", above                              ? " -C"
                                             : has(*verb.app, Values::commands) ? " -S"
                                                                                : "");
  for (const OptionText& option : options_of(*verb.app)) text += zsh_option(option);
  if (!above) return text + zsh_positionals(*verb.app) + "}\n\n";
  text +=
      fmt::format("    '1:name:(({}))' \\\n    '*::argument:->arguments'\n", zsh_names(*verb.app));
  return text + fmt::format(
                    "  [[ $state == arguments ]] || return\n  case $line[1] in\n"
                    "    {}) {}_$line[1] ;;\n  esac\n}}\n\n",
                    fmt::join(names_below(*verb.app), " | "), function);
}

}  // namespace

std::string zsh_completion(const CLI::App& app) {
  std::string text = "#compdef tabane\n# zsh completion for tabane, made from its command line\n\n";
  for (const Verb& verb : all_verbs(app)) text += zsh_verb(verb);
  return text + "_tabane \"$@\"\n";
}

// --------------------------------------------------------------------------------------- fish

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
    if (has(*verb.app, Values::files)) text += begin + " -F\n";
    if (has(*verb.app, Values::commands))
      text += begin + " -a '(__fish_complete_subcommand --fcs-skip=2)'\n";
  }
  return text;
}

}  // namespace tabane::cli
