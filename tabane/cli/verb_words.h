// The command of a verb that takes one after "--".
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tabane::cli {

// program: the positional before the others. throws: core::UsageError for an option that the verb
// does not know.
std::vector<std::string> command_of(const CLI::App& verb, const std::string& program);

}  // namespace tabane::cli
