// The verb `tabane study process-thread`.
#pragma once

#include <CLI/CLI.hpp>

namespace tabane::cli {

void add_process_thread_study(CLI::App& study_verb, int& exit_code);

}  // namespace tabane::cli
