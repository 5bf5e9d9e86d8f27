// tabane VERB [options] [-- command]
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <iostream>

#include "tabane/cli/command.h"
#include "tabane/cli/options.h"
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

int fail(const std::exception& error, int code) {
  return fail(std::string("tabane: ") + error.what(), code);
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
  add_encrypt_commands(app, exit_code);
  add_keygen_command(app, exit_code);
  add_rekey_command(app, exit_code);
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
  }
  return exit_code;
}

// What was printed may still lie in a buffer, and a disk be full.
int end(int code) {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout) return code;
  const core::SystemError error("write", "stdout", errno);
  return fail(error, code == kOk ? kFailed : code);
}

}  // namespace
}  // namespace tabane::cli

int main(int argc, char** argv) {
  using namespace tabane;
  try {
    return cli::end(cli::run(argc, argv));
  } catch (const core::UsageError& error) {
    return cli::fail(error, cli::kUsage);
  } catch (const comm::AbortError& error) {
    return cli::fail(error, error.code());
  } catch (const core::LostError& error) {
    return cli::fail(error, cli::kLost);
  } catch (const core::VerificationError& error) {
    return cli::fail(error, cli::kVerification);
  } catch (const std::exception& error) {
    return cli::fail(error, cli::kFailed);
  }
}
