// The options of `tabane run` that say where and on what a command runs: its own, and those of
// verbs that start commands themselves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tabane/lab/commands/child.h"
#include "tabane/lab/commands/run_plan.h"
#include "tabane/program/args.h"

namespace tabane::program {

// The value of a variable of this process; null: it is not set.
std::optional<std::string> own_variable(const std::string& name);

// The options; they fill `request`.
std::vector<Option> run_rows(RunRequest& request);

// Reads "-c 0-3 --malloc jemalloc". throws: core::UsageError naming what is wrong.
RunRequest run_request_of(const std::string& options);

// Lets a command run as planned: in its places, on its memory, with its environment.
void apply(const RunPlan& plan, lab::ChildCommand& command);

}  // namespace tabane::program
