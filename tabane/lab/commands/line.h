// Command lines as people type them: words, placeholders, and whether a shell must read them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tabane/lab/commands/child.h"

namespace tabane::lab {

// Splits a line into words as a shell does that knows nothing but blanks, '…', "…" and \.
// throws: core::UsageError for a quote that is not closed.
std::vector<std::string> words_of_line(std::string_view line);

// Replaces every {name} by its value; other braces stay.
std::string filled_in(std::string_view line,
                      std::span<const std::pair<std::string, std::string>> values);

// The names in {name}, each once, in order; "${name}" is the shell's and none of them.
std::vector<std::string> placeholders_of(std::string_view line);

// The line as a command of `shell -c`; an empty shell: none reads it, its words are the arguments.
// throws: core::UsageError if there are no words, or as words_of_line().
ChildCommand command_of_line(const std::string& line, const std::string& shell = "/bin/sh");

}  // namespace tabane::lab
