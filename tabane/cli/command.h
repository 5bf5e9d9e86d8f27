// The verbs. Each adds its subcommand to the program; its callback does the work, prints and sets
// the exit code. Errors leave the callback as exceptions, which main() turns into a sentence and a
// code.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tabane::cli {

enum ExitCode : int {
  kOk = 0,
  kFailed = 1,
  kUsage = 2,
  kLost = 3,
  kVerification = 4,
  kRunFailed = 125,      // tabane run: tabane itself failed
  kNotExecutable = 126,  // tabane run: found and not executable
  kNotFound = 127,       // tabane run: not found
};

void add_survey_command(CLI::App& app, int& exit_code);
void add_report_command(CLI::App& app, int& exit_code);
void add_study_command(CLI::App& app, int& exit_code);
void add_compare_command(CLI::App& app, int& exit_code);
void add_tune_command(CLI::App& app, int& exit_code);
void add_run_command(CLI::App& app, int& exit_code);
void add_time_command(CLI::App& app, int& exit_code);
void add_encrypt_commands(CLI::App& app, int& exit_code);  // encrypt, decrypt, verify
void add_keygen_command(CLI::App& app, int& exit_code);
void add_rekey_command(CLI::App& app, int& exit_code);
void add_scg_command(CLI::App& app, int& exit_code);
void add_linpack_command(CLI::App& app, int& exit_code);
void add_slalom_command(CLI::App& app, int& exit_code);
void add_matmul_command(CLI::App& app, int& exit_code);
void add_mine_command(CLI::App& app, int& exit_code);
void add_epub_command(CLI::App& app, int& exit_code);
// Hidden: writes the man page and the completions of the program when it is built.
void add_generate_docs_command(CLI::App& app, int& exit_code);

// Puts "--" before the first word of the command of `tabane run` and `tabane tune`, where the user
// left it out, so that the command's options stay the command's. arguments: without the program's
// name.
std::vector<std::string> mark_command(const CLI::App& app, std::vector<std::string> arguments);

}  // namespace tabane::cli
