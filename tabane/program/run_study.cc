#include "tabane/program/run_study.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/core/units.h"
#include "tabane/lab/page/report.h"
#include "tabane/lab/record/text.h"
#include "tabane/program/args.h"
#include "tabane/program/layout.h"
#include "tabane/program/progress.h"

namespace tabane::program {

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

std::vector<Option> StudyOptions::rows(bool& quick, const std::string& quick_help) {
  return {{"--quick", &quick, quick_help},
          {"-o,--output DIR", &output, "Write the page, the figures and the JSON into DIR"},
          json.row(),
          {"--wide", &wide, "Do not fit tables to the width of the terminal"},
          {"-q,--quiet", &quiet, "Show no progress and no warnings"}};
}

void print_study(const lab::Record& record, bool wide) {
  const std::size_t width = layout_width(STDOUT_FILENO, wide);
  fmt::print("{}\n", record.title);
  if (!record.source.empty()) fmt::print("{}\n", paragraph(record.source, width));
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
  hooks.on_plan = [&](const std::string& plan) {
    progress.clear();
    if (!options.quiet) fmt::print(stderr, "tabane: {}\n", plan);
  };
  const std::optional<lab::Record> record = run_unless_stopped(run, hooks);
  progress.clear();
  if (!record) return StopOnSignal::die_as_asked();
  if (options.tables && !options.json.to_stdout()) print_study(*record, options.wide);
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

Option sizes_row(const char* typed, std::vector<std::uint64_t>& bytes, const std::string& help) {
  const auto read = [&bytes](const Words& sizes) {
    for (const std::string& size : sizes) bytes.push_back(core::parse_size(size));
  };
  return {typed, read, help, {.repeatable = true, .commas = true}};
}

Option time_row(const char* typed, double& seconds, const std::string& help, Words needs) {
  const auto read = [&seconds](const Words& times) {
    seconds = core::parse_seconds(times.back());
    if (!(seconds >= 1 && seconds <= 3600))
      throw core::UsageError("'{}' is not from 1 to 3600 seconds", times.back());
  };
  return {typed, read, help, {.needs = std::move(needs)}};
}

double seconds_of(const char* option, const std::string& text) {
  try {
    return core::parse_seconds(text);
  } catch (const core::UsageError& error) {
    throw core::UsageError("{}: {}", option, error.what());
  }
}

double share_of(const char* option, const std::string& text, int most, const char* example) {
  const auto percent =
      core::number_in<double>(text.substr(0, text.size() - (text.ends_with('%') ? 1 : 0)));
  if (!percent || !(*percent >= 0) || *percent > most)
    throw core::UsageError("{} {}: must be per cent, 0 to {}, for example {}", option, text, most,
                           example);
  return *percent / 100;
}

std::string command_line_of(const Given& given) {
  return given.line({"--output", "--page", "--json", "--wide", "--quiet", "--rules", "--save",
                     "--resume", "--export"});
}

Definition study(std::shared_ptr<StudyOptions> options, std::vector<Option> rows, StudyRun run,
                 std::function<bool()> instead) {
  return {std::move(rows), [options = std::move(options), run = std::move(run),
                            instead = std::move(instead)](const Given& given) {
            if (instead && instead()) return kOk;
            run_study(*options, [&](const lab::Hooks& hooks) {
              std::optional<lab::Record> record = run(core::Topology::detect(), hooks);
              if (record) record->command_line = command_line_of(given);
              return record;
            });
            return kOk;
          }};
}

namespace {

// "± 2.0 %", or the ends of the interval where ± would reach below zero.
std::string spread_of(double value, const core::Interval& interval, const std::string& unit) {
  const double half = (interval.high - interval.low) / 2 / std::abs(value);
  return half < 1 ? fmt::format("± {:.1f} %", 100 * half)
                  : fmt::format("[{}, {}]", core::format_value(interval.low, unit),
                                core::format_value(interval.high, unit));
}

std::string limit_text(const lab::Result& result) {
  const auto share = result.share_of_limit();
  if (!share) return "";
  const auto [low, high] = share->interval;
  const bool is_time = result.better == lab::Better::lower;
  const std::string text =
      is_time ? fmt::format("{} × the limit", lab::text_of({1 / share->value, "ratio"}))
              : fmt::format("{:>5} of limit", lab::show_percent(share->value));
  if (result.is_above_limit()) return text + ": the roof is too low";
  if (share->pairs < 2) return text;
  return is_time ? fmt::format("{} ± {:.2f}", text, (1 / low - 1 / high) / 2)
                 : fmt::format("{} ± {:.0f}", text, std::ceil(50 * (high - low)));
}

}  // namespace

std::string result_line(const lab::Result& result, std::size_t name_width) {
  if (!result.value)
    return fmt::format("{:<{}} {:>14}{}", result.name, name_width, "not measured",
                       result.reason.empty() ? "" : ": " + result.reason);
  std::string value = core::format_value(*result.value, result.unit);
  std::string spread;
  if (result.interval && *result.value != 0)
    spread = spread_of(*result.value, *result.interval, result.unit);
  std::string line = fmt::format("{:<{}} {:>14}  {:<9} {}", result.name, name_width, value, spread,
                                 limit_text(result));
  if (const auto states = result.states())
    line += fmt::format("  two states: {} for {:.0f} % of the time, else {}",
                        core::format_value(states->high, result.unit), 100 * states->high_share,
                        core::format_value(states->low, result.unit));
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace tabane::program
