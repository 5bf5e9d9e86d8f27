// tabane VERB [options] [-- command]
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "tabane/cli/command.h"
#include "tabane/cli/version.h"
#include "tabane/core/error.h"

namespace tabane::cli {
namespace {

int fail(const std::exception& error, int code) {
  std::fprintf(stderr, "tabane: %s\n", error.what());
  return code;
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
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
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
