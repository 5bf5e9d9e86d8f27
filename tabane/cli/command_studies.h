// The studies on the command line, one file each: each adds its subcommand to `tabane study`.
#pragma once

#include <CLI/CLI.hpp>

namespace tabane::cli {

void add_aes_folder_study(CLI::App& verb);
void add_ap1000_applications_study(CLI::App& verb);
void add_ap1000_study(CLI::App& verb);
void add_ha8000_study(CLI::App& verb);
void add_pc_cluster_study(CLI::App& verb);
void add_process_thread_study(CLI::App& verb);

}  // namespace tabane::cli
