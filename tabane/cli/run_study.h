// What all studies share on the command line: options, progress, tables, JSON and figures.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <string>

#include "tabane/cli/output.h"
#include "tabane/cli/progress.h"
#include "tabane/cli/text_table.h"
#include "tabane/lab/study.h"

namespace tabane::cli {

struct StudyOptions {
  bool quiet = false;
  JsonOption json;
  std::string output;  // directory of the figures; empty: none
};

inline void print(const lab::Study& study) {
  fmt::print("{}\n{}\n", study.title, study.source);
  for (const lab::StudyTable& table : study.tables) {
    fmt::print("\n{}\n\n{}", table.title, text_table(table.rows));
    if (!table.remark.empty()) fmt::print("\n{}\n", table.remark);
  }
}

// Runs run(hooks) and shows the study that it returns, if it returns one; what was measured before
// Ctrl-C, too.
template <class Run>
void run_study(const StudyOptions& options, const Run& run) {
  options.json.check();
  if (!options.output.empty()) require_writable_directory(options.output);
  const StopOnSignal stop;
  ProgressLine progress(options.quiet);
  lab::SurveyHooks hooks;
  hooks.stop_requested = [] { return StopOnSignal::requested(); };
  hooks.progress = [&progress](const std::string& probe, double done, double left) {
    progress.show(probe, done, left);
  };
  const std::optional<lab::Study> made = run(hooks);
  progress.clear();
  if (!made) return;
  const lab::Study& study = *made;
  if (!options.json.to_stdout()) print(study);
  std::fflush(stdout);
  options.json.write(lab::to_json(study));
  for (const lab::Skipped& skipped : study.record.skipped)
    fmt::print(stderr, "tabane: not measured: {}: {}\n", skipped.name, skipped.reason);
  if (!study.record.complete) fmt::print(stderr, "tabane: stopped; what was measured is shown\n");
  if (!options.output.empty()) {
    if (const auto remark = lab::write_study_figures(study, options.output))
      fmt::print(stderr, "tabane: {}\n", *remark);
    else if (!options.quiet)
      fmt::print(stderr, "tabane: the figures are in {}\n", options.output);
  }
  StopOnSignal::die_as_asked();
}

}  // namespace tabane::cli
