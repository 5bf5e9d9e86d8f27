#include "tabane/cli/command_study_ap1000.h"

#include <memory>

#include "tabane/cli/options.h"
#include "tabane/cli/run_study.h"
#include "tabane/core/error.h"
#include "tabane/lab/studies/ap1000.h"

namespace tabane::cli {
namespace {

struct Ap1000Options : StudyOptions {
  lab::Ap1000Options study;
  std::string transport = "auto";
  CLI::Option* calibrate = nullptr;
  std::string choice_file;  // empty: stdout
};

void add_options(CLI::App& command, Ap1000Options& options) {
  lab::Ap1000Options& study = options.study;
  command.add_flag("--quick", study.quick, "Fewer samples");
  command
      .add_option("--transport", options.transport,
                  "How messages go: shm, mpi, or auto: mpi under its launcher (default)")
      ->check(CLI::IsMember({"auto", "shm", "mpi"}))
      ->type_name("NAME");
  command
      .add_option("-n,--processes", study.most_ranks,
                  "The most ranks (default: 4 times the PUs, over MPI all that it has)")
      ->check(CLI::Range(2, lab::kMostRanksForked))
      ->type_name("N");
  options.calibrate =
      command
          .add_option("--calibrate", options.choice_file,
                      "Measure every algorithm of the collectives instead, and write which to take "
                      "when, to stdout or FILE")
          ->expected(0, 1)
          ->type_name("[FILE]");
  command.add_option("-o,--output", options.output, "Write the figures into DIR, as SVG")
      ->type_name("DIR");
  command.add_flag("-q,--quiet", options.quiet, "No progress");
  options.json.add_to(command);
}

comm::TransportKind transport_named(const std::string& name) {
  if (name == "shm") return comm::TransportKind::shm;
  return name == "mpi" ? comm::TransportKind::mpi : comm::TransportKind::automatic;
}

void calibrate(const Ap1000Options& options) {
  const bool to_stdout = options.choice_file.empty() || options.choice_file == "-";
  if (to_stdout && options.json.to_stdout())
    throw core::UsageError("--calibrate without a file and --json would both write to stdout");
  if (!options.output.empty())
    throw core::UsageError("--calibrate draws no figures: leave out --output");
  if (!to_stdout) require_writable_file("--calibrate ", options.choice_file);
  std::string choice;
  run_study(options, [&](const lab::SurveyHooks& hooks) -> std::optional<lab::Study> {
    auto calibration = lab::calibrate_ap1000(core::Topology::detect(), options.study, hooks);
    if (!calibration) return {};
    if (calibration->study.record.complete) choice = std::move(calibration->choice);
    if (!to_stdout && !choice.empty()) write_whole_file(options.choice_file, choice);
    return std::move(calibration->study);
  });
  if (to_stdout && !choice.empty()) fmt::print("\n{}", choice);
}

}  // namespace

void add_ap1000_study(CLI::App& study_verb) {
  auto options = std::make_shared<Ap1000Options>();
  CLI::App* command = study_verb.add_subcommand(
      "ap1000", "Messages, broadcast, global functions, gathering and barriers between ranks");
  show_examples_first(*command,
                      "  tabane study ap1000 --quick -o figures\n"
                      "  mpirun -n 4 tabane study ap1000 --transport mpi\n"
                      "  tabane study ap1000 --calibrate collectives.txt");
  add_options(*command, *options);
  command->callback([options] {
    options->study.transport = transport_named(options->transport);
    if (options->calibrate->count() > 0) return calibrate(*options);
    run_study(*options, [&](const lab::SurveyHooks& hooks) {
      return lab::run_ap1000(core::Topology::detect(), options->study, hooks);
    });
  });
}

}  // namespace tabane::cli
