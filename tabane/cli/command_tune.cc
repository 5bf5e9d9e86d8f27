// tabane tune: finds what is fastest here.
#include <fmt/format.h>

#include <memory>

#include "tabane/cli/command.h"
#include "tabane/cli/options.h"
#include "tabane/cli/rank_options.h"
#include "tabane/cli/run_study.h"
#include "tabane/core/error.h"
#include "tabane/core/output_path.h"
#include "tabane/lab/tune/collectives.h"

namespace tabane::cli {
namespace {

struct Options : StudyOptions {
  lab::CollectivesOptions study;
  bool collectives = false;
  std::string rules;  // empty: stdout
};

void tune(const Options& options) {
  const bool to_stdout = options.rules.empty() || options.rules == "-";
  if (to_stdout && options.json.to_stdout())
    throw core::UsageError("--json and the rules would both go to stdout: name a file by --rules");
  if (!to_stdout) require_writable_file("--rules ", options.rules);
  std::string choice;
  run_study(options, [&](const lab::Hooks& hooks) -> std::optional<lab::Record> {
    auto tuning = lab::tune_collectives(core::Topology::detect(), options.study, hooks);
    if (!tuning) return {};
    choice = std::move(tuning->choice);
    if (!to_stdout && !choice.empty()) core::write_output(options.rules, choice);
    return std::move(tuning->record);
  });
  if (to_stdout && !choice.empty()) fmt::print("\n{}", choice);
}

}  // namespace

void add_tune_command(CLI::App& app, int&) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("tune", "Find what is fastest on this machine");
  show_examples_first(*verb,
                      "  tabane tune --collectives --rules collectives.txt\n"
                      "  mpirun -n 4 tabane tune --collectives --rules collectives.txt");
  verb->add_flag("--collectives", options->collectives,
                 "Measure every algorithm of the collectives and write which to take when")
      ->required();
  verb->add_option("--rules", options->rules, "Write the rules to FILE (default: stdout)")
      ->type_name("FILE");
  options->add_to(*verb, "Take 20 s instead of 90 s: fewer samples");
  add_rank_options(*verb, options->study.ranks);
  verb->callback([options] {
    options->study.quick = options->quick;
    tune(*options);
  });
}

}  // namespace tabane::cli
