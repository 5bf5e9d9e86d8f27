// The studies that start this program once more, one file each: each adds its subcommand to `tabane
// study`, as command_study.cc does for the others.
#pragma once

#include <CLI/CLI.hpp>

namespace tabane::cli {

void add_pc_cluster_study(CLI::App& studies);
void add_process_thread_study(CLI::App& studies);

}  // namespace tabane::cli
