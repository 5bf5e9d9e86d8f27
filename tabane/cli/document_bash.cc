#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tabane/cli/document_parts.h"
#include "tabane/cli/documents.h"
#include "tabane/cli/options.h"

namespace tabane::cli {
namespace {

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
  const std::string positional = takes(*verb.app, Values::commands) ? "command"
                                 : takes(*verb.app, Values::files)  ? "file"
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
  elif [[ -n $names && $positional == file ]]; then
    COMPREPLY=($(compgen -W "$names" -f -- "$current"))
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

}  // namespace tabane::cli
