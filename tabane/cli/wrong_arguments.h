// What to say of arguments that the program does not understand.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tabane::cli {

// Returns one sentence that names the verb, what is wrong and what would be right.
// arguments: as typed, without the program's name.
std::string wrong_arguments(const CLI::App& app, const CLI::ParseError& error,
                            const std::vector<std::string>& arguments);

}  // namespace tabane::cli
