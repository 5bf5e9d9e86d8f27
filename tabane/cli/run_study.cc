#include "tabane/cli/run_study.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cstdio>

#include "tabane/cli/layout.h"
#include "tabane/cli/options.h"
#include "tabane/cli/progress.h"
#include "tabane/cli/shell_words.h"
#include "tabane/core/error.h"
#include "tabane/core/output_path.h"
#include "tabane/core/units.h"
#include "tabane/lab/page/report.h"
#include "tabane/lab/record/text.h"

namespace tabane::cli {

std::string table_text(const lab::Rows& rows, std::size_t width) {
  std::vector<std::vector<std::string>> text = {rows.columns};
  for (const auto& row : rows.rows) {
    text.emplace_back();
    for (const lab::Entry& entry : row) text.back().push_back(lab::text_of(entry));
  }
  return fit_table(text, width);
}

namespace {

// A measure that is easy to read, also on a wide terminal.
std::string paragraph(const std::string& text, std::size_t width) {
  constexpr std::size_t kReadable = 100;
  return wrap_text(text, width == kNoLimit ? width : std::min(width, kReadable));
}

}  // namespace

void StudyOptions::add_to(CLI::App& command, bool& quick, const std::string& quick_help) {
  command.add_flag("--quick", quick, quick_help);
  command.add_option("-o,--output", output, "Write the page, the figures and the JSON into DIR")
      ->type_name("DIR");
  json.add_to(command);
  command.add_flag("--wide", wide, "Do not fit tables to the width of the terminal");
  command.add_flag("-q,--quiet", quiet, "Show no progress and no warnings");
}

void print_study(const lab::Record& record, bool wide) {
  const std::size_t width = layout_width(STDOUT_FILENO, wide);
  fmt::print("{}\n{}\n", record.title, paragraph(record.source, width));
  for (const lab::View& view : record.views) {
    const auto* rows = std::get_if<lab::Rows>(&view.content);
    if (rows == nullptr) continue;
    fmt::print("\n{}\n\n{}", view.title, table_text(*rows, width));
    if (!view.note.empty()) fmt::print("\n{}\n", paragraph(view.note, width));
  }
  for (const std::string& sentence : record.sentences)
    fmt::print("\n{}\n", paragraph(sentence, width));
}

void print_warnings(const lab::Record& record) {
  const std::size_t width = layout_width(STDERR_FILENO);
  for (const lab::Warning& warning : record.warnings) {
    fmt::print(stderr, "\n{}\n  {}\n  {}\n", wrap_text("warning: " + warning.seen, width, 2),
               wrap_text("may mean: " + warning.may_mean, width - 2, 2),
               wrap_text("to do: " + warning.do_this, width - 2, 2));
  }
}

namespace {

// Null also where there is nothing to show yet.
std::optional<lab::Record> run_unless_stopped(
    const std::function<std::optional<lab::Record>(const lab::Hooks&)>& run,
    const lab::Hooks& hooks) {
  try {
    return run(hooks);
  } catch (const lab::Stopped&) {
    fmt::print(stderr, "tabane: stopped before anything was measured\n");
    return std::nullopt;
  }
}

}  // namespace

void run_study(const StudyOptions& options,
               const std::function<std::optional<lab::Record>(const lab::Hooks&)>& run,
               const std::function<void()>& print_more) {
  options.json.check();
  if (!options.output.empty()) require_writable_directory(options.output);
  const StopOnSignal stop;
  ProgressLine progress(options.quiet);
  lab::Hooks hooks;
  hooks.stop_requested = [] { return StopOnSignal::requested(); };
  hooks.progress = [&progress](const std::string& what, double done, double left) {
    progress.show(what, done, left);
  };
  const std::optional<lab::Record> record = run_unless_stopped(run, hooks);
  progress.clear();
  if (!record) return StopOnSignal::die_as_asked();
  if (!options.json.to_stdout()) print_study(*record, options.wide);
  if (print_more) print_more();
  std::fflush(stdout);
  const lab::Json json = lab::to_json(*record);
  options.json.write(json);
  for (const lab::Skipped& skipped : record->skipped)
    fmt::print(stderr, "tabane: not measured: {}: {}\n", skipped.name, skipped.reason);
  if (!options.quiet) print_warnings(*record);
  if (!record->complete) fmt::print(stderr, "tabane: stopped; what was measured is shown\n");
  if (!options.output.empty()) {
    const std::filesystem::path directory = options.output;
    core::write_output(directory / "study.json", json.dump(1) + "\n");
    if (const auto remark = lab::write_report(*record, directory))
      fmt::print(stderr, "tabane: {}\n", *remark);
    if (!options.quiet)
      fmt::print(stderr, "tabane: the page is {}\n", (directory / "report.html").string());
  }
  StopOnSignal::die_as_asked();
}

// ---- a study's verb ----

StudyVerb::StudyVerb(CLI::App& studies, const char* name, const char* what, const char* examples)
    : command_(studies.add_subcommand(name, what)) {
  show_examples_first(*command_, examples);
}

void StudyVerb::add_common(bool& quick, const char* quick_help) {
  options_->add_to(*command_, quick, quick_help);
}

CLI::Option* StudyVerb::add_size(const char* flags, std::uint64_t& bytes, const std::string& help) {
  const auto read = [&bytes](const std::string& size) { bytes = core::parse_size(size); };
  return command_->add_option_function<std::string>(flags, read, help)->type_name("SIZE");
}

CLI::Option* StudyVerb::add_sizes(const char* flags, const char* value,
                                  std::vector<std::uint64_t>& bytes, const std::string& help) {
  const auto read = [&bytes](const std::vector<std::string>& sizes) {
    for (const std::string& size : sizes) bytes.push_back(core::parse_size(size));
  };
  return command_->add_option_function<std::vector<std::string>>(flags, read, help)
      ->delimiter(',')
      ->type_name(value);
}

CLI::Option* StudyVerb::add_time(const char* flags, double& seconds, const std::string& help) {
  const auto read = [&seconds, flags](const std::string& time) {
    seconds = core::parse_seconds(time);
    if (!(seconds >= 1 && seconds <= 3600))
      throw core::UsageError(fmt::format("{} {}: from 1 to 3600 seconds", flags, time));
  };
  return command_->add_option_function<std::string>(flags, read, help)->type_name("TIME");
}

namespace {

// "tabane study ap1000 --quick --processes 4": what was asked for, not where it goes.
std::string command_line_of(const CLI::App& command) {
  std::string line = "tabane study " + command.get_name();
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = "--" + option->get_lnames().front();
    const bool shows = name == "--output" || name == "--json" || name == "--wide" ||
                       name == "--quiet" || name == "--help";
    if (option->count() == 0 || shows) continue;
    const bool is_flag = option->get_items_expected_max() == 0;
    if (is_flag && !option->as<bool>()) continue;  // --quick=false
    line += " " + name;
    if (!is_flag) line += " " + shell_word(fmt::format("{}", fmt::join(option->results(), ",")));
  }
  return line;
}

}  // namespace

void StudyVerb::runs(Run run, std::function<bool()> instead) {
  command_->callback(
      [command = command_, options = options_, run = std::move(run), instead = std::move(instead)] {
        if (instead && instead()) return;
        run_study(*options, [&](const lab::Hooks& hooks) {
          std::optional<lab::Record> record = run(core::Topology::detect(), hooks);
          if (record) record->command_line = command_line_of(*command);
          return record;
        });
      });
}

}  // namespace tabane::cli
