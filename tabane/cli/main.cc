// tabane VERB [options] [-- command]
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>

#include "tabane/cli/command.h"
#include "tabane/cli/printable.h"
#include "tabane/cli/version.h"
#include "tabane/core/error.h"

namespace tabane::cli {
namespace {

int fail(const std::exception& error, int code) {
  std::fprintf(stderr, "tabane: %s\n", printable(error.what()).c_str());
  return code;
}

// The names of a verb's own verbs, for one who mistyped or forgot one.
std::string names_of_verbs(const CLI::App& app) {
  std::string names;
  for (const CLI::App* verb : app.get_subcommands({})) {
    names += (names.empty() ? "" : ", ") + verb->get_name();
  }
  return names;
}

int complain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* verb = &app;
  std::string typed = "tabane";
  while (!verb->get_subcommands().empty()) {
    verb = verb->get_subcommands().front();
    typed += " " + verb->get_name();
  }
  std::string text = typed + ": " + error.what();
  const std::vector<std::string> unknown = app.remaining(true);
  if (!unknown.empty()) text = typed + ": there is no '" + unknown.front() + "'";
  while (text.ends_with('\n') || text.ends_with('.')) text.pop_back();
  const std::string verbs = names_of_verbs(*verb);
  if (!verbs.empty()) text += "; legal are " + verbs;
  std::fprintf(stderr, "%s; see '%s --help'\n", text.c_str(), typed.c_str());
  return kUsage;
}

// CLI11 would take the word after a bare --json for its file.
void mark_json(std::vector<std::string>& arguments) {
  for (std::string& argument : arguments) {
    if (argument == "--") return;
    if (argument == "--json") argument = "--json=-";
  }
}

int run(int argc, char** argv) {
  CLI::App app{"Bundles cores, memory and machines into one fast job, and shows its limits",
               "tabane"};
  int exit_code = kOk;
  app.set_version_flag("-V,--version", version_text());
  app.require_subcommand(1);
  add_survey_command(app, exit_code);
  add_report_command(app, exit_code);
  add_study_command(app, exit_code);
  add_run_command(app, exit_code);
  add_encrypt_commands(app, exit_code);
  add_keygen_command(app, exit_code);
  if (argc == 1) {
    std::fputs(app.help().c_str(), stderr);
    return kUsage;
  }
  try {
    std::vector<std::string> arguments =
        mark_command(app, std::vector<std::string>(argv + 1, argv + argc));
    mark_json(arguments);
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes a vector
    app.parse(std::move(arguments));
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::ParseError& error) {
    return complain(app, error);
  }
  return exit_code;
}

}  // namespace
}  // namespace tabane::cli

int main(int argc, char** argv) {
  using namespace tabane;
  try {
    return cli::run(argc, argv);
  } catch (const core::UsageError& error) {
    return cli::fail(error, cli::kUsage);
  } catch (const core::LostError& error) {
    return cli::fail(error, cli::kLost);
  } catch (const core::VerificationError& error) {
    return cli::fail(error, cli::kVerification);
  } catch (const std::exception& error) {
    return cli::fail(error, cli::kFailed);
  }
}
