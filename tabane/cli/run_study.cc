#include "tabane/cli/run_study.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "tabane/cli/layout.h"
#include "tabane/cli/progress.h"
#include "tabane/core/output_path.h"
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

void StudyOptions::add_to(CLI::App& command, const std::string& quick_help) {
  command.add_flag("--quick", quick, quick_help);
  command.add_option("-o,--output", output, "Write the page, the figures and the JSON into DIR")
      ->type_name("DIR");
  json.add_to(command);
  command.add_flag("--wide", wide, "Do not fit tables to the width of the terminal");
  command.add_flag("-q,--quiet", quiet, "Show no progress");
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
  const std::optional<lab::Record> record = run(hooks);
  progress.clear();
  if (!record) return;
  if (!options.json.to_stdout()) print_study(*record, options.wide);
  if (print_more) print_more();
  std::fflush(stdout);
  const lab::Json json = lab::to_json(*record);
  options.json.write(json);
  for (const lab::Skipped& skipped : record->skipped)
    fmt::print(stderr, "tabane: not measured: {}: {}\n", skipped.name, skipped.reason);
  if (options.warns && !options.quiet) print_warnings(*record);
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

}  // namespace tabane::cli
