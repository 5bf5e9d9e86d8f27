#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tabane/cli/document_parts.h"
#include "tabane/cli/documents.h"
#include "tabane/cli/options.h"

namespace tabane::cli {
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
  if (takes(app, Values::commands)) return "    '*::command:_normal'\n";
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
  text += fmt::format("  _arguments{} \\\n", above                                ? " -C"
                                             : takes(*verb.app, Values::commands) ? " -S"
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

}  // namespace tabane::cli
