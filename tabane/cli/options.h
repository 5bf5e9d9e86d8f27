// What the verbs share in the way they present their options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tabane::cli {

// Puts examples before the usage in the help of a verb.
void show_examples_first(CLI::App& verb, const std::string& examples);

}  // namespace tabane::cli
