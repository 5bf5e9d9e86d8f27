// What the completions of all shells read from the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "tabane/cli/options.h"

namespace tabane::cli {

struct Verb {
  const CLI::App* app;
  std::string path;  // "study ap1000"; empty: the program
};

// The program, its verbs and what is below them.
std::vector<Verb> all_verbs(const CLI::App& app);

std::vector<std::string> names_below(const CLI::App& app);

// The options of a verb, short and long.
std::vector<std::string> flags_of(const CLI::App& app);

// What a shell can offer as a value.
enum class Values { none, names, files, directories, commands, other };

Values values_of(const OptionText& text);

// Whether a positional argument of the verb takes such values.
bool takes(const CLI::App& app, Values values);

}  // namespace tabane::cli
