// The man page and the shells' completions, from the definitions of the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tabane::cli {

// Returns the man page: a template in which the line "@options VERB@" stands for the table of the
// verb's options (of a verb with names below it: theirs), "@options others@" for the verbs that it
// has not named so far, "@options@" for the program's own options, and @version@ for the version.
// throws: core::UsageError if it names a verb that there is not.
std::string man_page(const CLI::App& app, const std::string& page_template);

std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);

}  // namespace tabane::cli
