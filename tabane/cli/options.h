// What the verbs share in the way they define and present their options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tabane::cli {

// Puts examples before the usage in the help of a verb.
void show_examples_first(CLI::App& verb, const std::string& examples);

// Makes the help of the program and of the verbs that it gets later fit the terminal.
void fit_help_to_terminal(CLI::App& app);

// A check of an option's value; --help, the man page and the completions know the names from it.
CLI::Validator one_of(const std::vector<std::string>& names);

// A check of a value that goes into an unsigned integer, which CLI11 would let wrap around.
CLI::Validator whole_number();

// An option as users see it.
struct OptionText {
  std::vector<std::string> names;   // with their dashes, the short one first; none: a positional
  std::string value;                // what stands for it, "FILE"; empty: a flag
  bool value_after_equals = false;  // --json[=FILE]
  bool value_optional = false;
  bool repeatable = false;
  std::vector<std::string> choices;   // legal values, if there is a list of them
  std::vector<std::string> excludes;  // names of options that cannot be given with it
  std::string what;

  // "-t, --threads N"
  std::string synopsis() const;
};

OptionText text_of(const CLI::Option& option);

// The options of a verb that --help shows, in the order of their definition; --help is the last.
std::vector<OptionText> options_of(const CLI::App& verb);
std::vector<OptionText> positionals_of(const CLI::App& verb);

// The verbs of a verb that --help shows.
std::vector<const CLI::App*> verbs_of(const CLI::App& verb);

}  // namespace tabane::cli
