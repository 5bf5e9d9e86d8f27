// The options of `tabane run` that say where and on what a command runs: its own, and those of
// verbs that start commands themselves.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "tabane/cli/run_plan.h"
#include "tabane/lab/commands/child.h"

namespace tabane::cli {

// The value of a variable of this process; null: it is not set.
std::optional<std::string> own_variable(const std::string& name);

// Adds the options to a verb; they fill `request`, which must live as long as the verb.
void add_run_options(CLI::App& verb, RunRequest& request);

// Reads "-c 0-3 --malloc jemalloc". throws: core::UsageError naming what is wrong.
RunRequest run_request_of(const std::string& options);

// Lets a command run as planned: in its places, on its memory, with its environment.
void apply(const RunPlan& plan, lab::ChildCommand& command);

}  // namespace tabane::cli
