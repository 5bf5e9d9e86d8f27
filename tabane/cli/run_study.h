// What all studies share on the command line: options, progress, tables, JSON and the page.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "tabane/cli/output.h"
#include "tabane/lab/campaign/progress.h"

namespace tabane::cli {

struct StudyOptions {
  bool quick = false, quiet = false, wide = false;
  bool warns = false;  // the record's warnings are printed
  JsonOption json;
  std::string output;  // directory of the page and the figures; empty: none

  // Adds --quick, with this help, and what all studies have: -o, --json, -q, --wide.
  void add_to(CLI::App& command, const std::string& quick_help);
};

// A table of a record in at most `width` columns.
std::string table_text(const lab::Rows& rows, std::size_t width);

// Prints title, source, tables, sentences and what was not measured.
void print_study(const lab::Record& record, bool wide);

// Prints a record's warnings on stderr: what was seen, what it may mean, what to do.
void print_warnings(const lab::Record& record);

// Runs run(hooks) and shows the record that it returns, if it returns one; what was measured before
// Ctrl-C, too. print_more: what stands after it on stdout.
void run_study(const StudyOptions& options,
               const std::function<std::optional<lab::Record>(const lab::Hooks&)>& run,
               const std::function<void()>& print_more = {});

}  // namespace tabane::cli
