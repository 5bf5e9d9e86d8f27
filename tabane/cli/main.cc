// tabane VERB [options] [-- command]
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>

#include "tabane/cli/command.h"
#include "tabane/cli/more_lines.h"
#include "tabane/cli/options.h"
#include "tabane/cli/output.h"
#include "tabane/cli/printable.h"
#include "tabane/cli/version.h"
#include "tabane/cli/wrong_arguments.h"
#include "tabane/comm/message.h"
#include "tabane/core/error.h"

namespace tabane::cli {
namespace {

int fail(const std::string& sentence, int code) {
  std::fprintf(stderr, "%s\n", printable(sentence).c_str());
  return code;
}

// What libraries throw says which of their functions it came from.
std::string sentence_of(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error)) return "there is not enough memory";
  const auto* of_path = dynamic_cast<const std::filesystem::filesystem_error*>(&error);
  if (!of_path) return error.what();
  return fmt::format("{}: cannot be reached: {}", of_path->path1().string(),
                     of_path->code().message());
}

int code_of(const std::exception& error) {
  if (dynamic_cast<const core::UsageError*>(&error)) return kUsage;
  if (const auto* abort = dynamic_cast<const comm::AbortError*>(&error)) return abort->code();
  if (dynamic_cast<const core::LostError*>(&error)) return kLost;
  if (dynamic_cast<const core::VerificationError*>(&error)) return kVerification;
  return kFailed;
}

// What is wrong with arguments is said by their verb, as it is by the parser.
std::string speaker(const CLI::App& app, const std::exception& error) {
  const auto verbs = app.get_subcommands();
  const bool of_verb = !verbs.empty() && code_of(error) == kUsage;
  return of_verb ? "tabane " + verbs.front()->get_name() + ": " : "tabane: ";
}

int fail(const std::exception& error, int code, const std::string& speaker = "tabane: ") {
  fail(speaker + sentence_of(error), code);
  if (const auto* more = dynamic_cast<const MoreLines*>(&error)) {
    for (const std::string& line : more->lines()) fail(line, code);
  }
  return code;
}

// CLI11 would take the word after a bare --json for its file.
void mark_json(std::vector<std::string>& arguments) {
  for (std::string& argument : arguments) {
    if (argument == "--") return;
    if (argument == "--json") argument = "--json=-";
  }
}

// "help VERB" is "VERB --help".
void mark_help(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "help") return;
  arguments.erase(arguments.begin());
  arguments.emplace_back("--help");
}

int run(int argc, char** argv) {
  CLI::App app{"Bundle cores, memory and machines into one fast job, and show its limits",
               "tabane"};
  int exit_code = kOk;
  app.set_version_flag("-V,--version", version_text(),
                       "Print the version, the compiler and the libraries, and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.require_subcommand(1);
  fit_help_to_terminal(app);
  add_survey_command(app, exit_code);
  add_report_command(app, exit_code);
  add_study_command(app, exit_code);
  add_compare_command(app, exit_code);
  add_tune_command(app, exit_code);
  add_run_command(app, exit_code);
  add_time_command(app, exit_code);
  add_encrypt_commands(app, exit_code);
  add_keygen_command(app, exit_code);
  add_rekey_command(app, exit_code);
  add_epub_command(app, exit_code);
  add_scg_command(app, exit_code);
  add_linpack_command(app, exit_code);
  add_slalom_command(app, exit_code);
  add_matmul_command(app, exit_code);
  add_mine_command(app, exit_code);
  add_generate_docs_command(app, exit_code);
  if (argc == 1) {
    std::fputs(app.help().c_str(), stderr);
    return kUsage;
  }
  std::vector<std::string> typed(argv + 1, argv + argc);
  mark_help(typed);
  try {
    std::vector<std::string> arguments = mark_command(app, typed);
    mark_json(arguments);
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes a vector
    app.parse(std::move(arguments));
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    return fail(wrong_arguments(app, error, typed), kUsage);
  } catch (const std::exception& error) {
    write_error(app, sentence_of(error), code_of(error));
    return fail(error, code_of(error), speaker(app, error));
  }
  return exit_code;
}

// What an earlier write to stdout has met, if the last error of all may have been of one.
int reason_of_write(int last) {
  for (const int possible : {ENOSPC, EDQUOT, EFBIG, EPIPE, EBADF}) {
    if (last == possible) return last;
  }
  return EIO;
}

// What was printed may still lie in a buffer, and a disk be full.
int end(int code) {
  const int last = errno;
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout) return code;
  const core::SystemError error("write", "stdout", errno != 0 ? errno : reason_of_write(last));
  return fail(error, code == kOk ? kFailed : code);
}

}  // namespace
}  // namespace tabane::cli

int main(int argc, char** argv) {
  using namespace tabane;
  try {
    return cli::end(cli::run(argc, argv));
  } catch (const std::exception& error) {
    return cli::fail(error, cli::code_of(error));
  }
}
