// The verb below `tabane epub` that only looks.
#pragma once

#include <CLI/CLI.hpp>

namespace tabane::cli {

void add_epub_inspect(CLI::App& epub, int& exit_code);

}  // namespace tabane::cli
