// tabane time: commands of the user compared in turn.
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "tabane/core/clock.h"
#include "tabane/core/error.h"
#include "tabane/lab/record_head.h"
#include "tabane/program/command.h"
#include "tabane/program/layout.h"
#include "tabane/program/run_study.h"
#include "tabane/tools/time/time.h"
#include "tabane/tools/time/time_record.h"
#include "tabane/tools/time/verb_request.h"

namespace tabane::program {
namespace {

// Runs of a shell that does nothing, to tell its part of short commands.
constexpr int kShellRuns = 11;
constexpr double kShellMatters = 10e-3;
constexpr double kCountedSeconds = 10e-3;  // counting makes shorter commands visibly slower

struct TimeOptions : StudyOptions {
  TimeRequest request;
  lab::TimeEffort effort;
  std::optional<int> runs;    // null: from -m to -M
  std::optional<int> fewest;  // null: the usual number, or that of -M
  std::string min_time = "3", max_time, precision = "1%", timeout;
  bool no_shell = false, show_output = false;
  std::string export_json, export_csv, export_markdown, export_asciidoc, export_orgmode;
  std::string reference, sort = "command";
  std::string command_line;
};

lab::TimeEffort effort_of(const TimeOptions& options) {
  lab::TimeEffort effort = options.effort;
  core::Effort& rounds = effort.rounds;
  effort.least_seconds = seconds_of("--min-time", options.min_time);
  if (!options.max_time.empty()) {
    rounds.most_seconds = seconds_of("--max-time", options.max_time);
    rounds.budget_seconds = rounds.most_seconds;
    effort.least_seconds = std::min(effort.least_seconds, rounds.most_seconds);
  }
  if (!options.timeout.empty()) {
    effort.timeout_seconds = seconds_of("--timeout", options.timeout);
    if (effort.timeout_seconds <= 0) throw core::UsageError("--timeout 0: use a time above 0");
  }
  effort.precision = share_of("--precision", options.precision, 100, "1%");
  if (options.fewest && *options.fewest > rounds.most)
    throw core::UsageError("-m/--min-runs {} is more than -M/--max-runs {}", *options.fewest,
                           rounds.most);
  rounds.fewest = std::min(options.fewest.value_or(rounds.fewest), rounds.most);
  if (options.runs) {
    rounds.fewest = rounds.most = *options.runs;
    effort.least_seconds = 0;
    if (options.max_time.empty()) rounds.budget_seconds = std::numeric_limits<double>::infinity();
  }
  return effort;
}

void run_around(const AroundCommand& around, const std::function<bool()>& stop_requested) {
  if (around.line.empty()) return;
  const lab::ChildRun run = lab::run_child(around.command, {.stop_requested = stop_requested});
  if (!run.ok())
    throw lab::CommandFailed(
        fmt::format("{} '{}': {}", around.option, around.line, lab::how_it_ended(run)), run.errors);
}

// counters: null if the runs are not to be counted.
std::vector<lab::TimeContender> contenders_of(const TimePlan& plan,
                                              const std::function<bool()>& stop_requested,
                                              core::Counters* counters) {
  std::vector<lab::TimeContender> contenders;
  for (const TimedCommand& timed : plan.commands) {
    const auto seconds = std::make_shared<double>(0);  // that the last run took
    contenders.push_back(
        {.name = timed.name,
         .factors = timed.factors,
         .run =
             [&timed, counters, stop_requested, seconds](double timeout_seconds, bool for_peak) {
               const bool counted = !for_peak && *seconds > kCountedSeconds;
               const lab::ChildRun run =
                   lab::run_child(timed.command, {.timeout_seconds = timeout_seconds,
                                                  .stop_requested = stop_requested,
                                                  .small_peaks = for_peak,
                                                  .most_kept_bytes = 0,
                                                  .counters = counted ? counters : nullptr});
               *seconds = run.seconds;
               return run;
             },
         .prepare = [&timed, stop_requested] { run_around(timed.prepare, stop_requested); },
         .conclude = [&timed, stop_requested] { run_around(timed.conclude, stop_requested); }});
  }
  return contenders;
}

// Whatever happens, what was set up is cleaned up, also after Ctrl-C. not_cleaned: gets the first
// failure of that.
lab::Timings set_up_and_time(const TimePlan& plan,
                             const std::vector<lab::TimeContender>& contenders,
                             const lab::TimeEffort& effort, const lab::Hooks& hooks,
                             std::exception_ptr& not_cleaned) {
  std::size_t set_up = 0;
  std::exception_ptr failure;
  lab::Timings timings;
  try {
    for (; set_up < plan.commands.size(); ++set_up) {
      hooks.progress("setup: " + plan.commands[set_up].name, 0, -1);
      run_around(plan.commands[set_up].setup, hooks.stop_requested);
    }
    timings = lab::time_in_turn(contenders, effort, core::tick_clock(), hooks);
  } catch (...) {
    failure = std::current_exception();
  }
  for (std::size_t i = 0; i < set_up; ++i) {
    try {
      run_around(plan.commands[i].cleanup, [] { return false; });
    } catch (const core::Error& error) {
      if (!not_cleaned) not_cleaned = std::current_exception();
      // The signal ends the program before anyone else can say it.
      if (hooks.stop_requested()) fmt::print(stderr, "tabane: {}\n", printable(error.what()));
    }
  }
  if (failure) std::rethrow_exception(failure);
  return timings;
}

// Null where it does not matter.
std::optional<double> shell_seconds(const TimePlan& plan, const lab::Timings& timings) {
  const bool matters = std::ranges::any_of(
      timings.points, [](const lab::Point& point) { return point.median() < kShellMatters; });
  if (!plan.shell || !matters) return std::nullopt;
  std::vector<double> samples;
  for (int i = 0; i < kShellRuns; ++i) samples.push_back(lab::run_child(plan.empty_shell).seconds);
  return core::median(samples);
}

void write_exports(const TimeOptions& options, const std::vector<lab::TimeContender>& contenders,
                   const lab::Timings& timings) {
  write_text(options.export_json, lab::export_json(contenders, timings));
  write_text(options.export_csv, lab::export_csv(contenders, timings));
  for (const auto& [file, markup] : {std::pair{options.export_markdown, lab::Markup::markdown},
                                     std::pair{options.export_asciidoc, lab::Markup::asciidoc},
                                     std::pair{options.export_orgmode, lab::Markup::orgmode}})
    write_text(file, lab::export_table(contenders, timings, markup));
}

// What goes to stdout takes the place of the tables.
void check_exports(TimeOptions& options) {
  bool stdout_is_taken = options.json.to_stdout();
  for (const auto& [flag, file] : {std::pair{"--export-json ", options.export_json},
                                   std::pair{"--export-csv ", options.export_csv},
                                   std::pair{"--export-markdown ", options.export_markdown},
                                   std::pair{"--export-asciidoc ", options.export_asciidoc},
                                   std::pair{"--export-orgmode ", options.export_orgmode}}) {
    require_writable_text(flag, file);
    if (!is_stdout(file)) continue;
    if (std::exchange(stdout_is_taken, true))
      throw core::UsageError("{}{}: something else goes to stdout, too: name a file", flag, file);
    options.tables = false;
  }
}

void time_commands(TimeOptions& options) {
  const core::Topology topology = core::Topology::detect();
  lab::require_this_machine(topology);
  const lab::TimeEffort effort = effort_of(options);
  check_exports(options);
  core::Counters counters(core::Counted::programs);
  const TimePlan plan = plan_time(options.request, topology);
  for (const std::string& warning : plan.warnings)
    fmt::print(stderr, "tabane: {}\n", printable(warning));
  std::exception_ptr not_cleaned;
  run_study(options, [&](const lab::Hooks& hooks) -> std::optional<lab::Record> {
    const auto contenders =
        contenders_of(plan, hooks.stop_requested, effort.repeat == 1 ? &counters : nullptr);
    lab::Timings timings;
    try {
      timings = set_up_and_time(plan, contenders, effort, hooks, not_cleaned);
    } catch (const lab::Stopped&) {
    }
    if (timings.rounds() == 0) {
      if (hooks.stop_requested()) fmt::print(stderr, "tabane: stopped before a round was whole\n");
      return std::nullopt;
    }
    if (options.sort == "time") lab::sort_by_time(timings);
    write_exports(options, contenders, timings);
    return lab::time_record(
        topology, contenders, effort, timings,
        {.command_line = options.command_line, .shell_seconds = shell_seconds(plan, timings)});
  });
  if (not_cleaned) std::rethrow_exception(not_cleaned);
}

std::vector<Option> effort_rows(TimeOptions& options) {
  return {
      {"-w,--warmup N",
       &options.effort.rounds.warmups,
       "First run all commands N times; these runs do not count (default 1)",
       {.range = kFromZero}},
      {"-r,--runs N", &options.runs, "Take exactly N rounds", {.range = kAboveZero}},
      {"-m,--min-runs N",
       &options.fewest,
       "Take at least N rounds (default 10)",
       {.range = kAboveZero, .excludes = {"--runs"}}},
      {"-M,--max-runs N",
       &options.effort.rounds.most,
       "Take at most N rounds",
       {.range = kAboveZero, .excludes = {"--runs"}}},
      {"--min-time TIME", &options.min_time, "Measure for at least this long (default 3s)"},
      {"--max-time TIME", &options.max_time,
       "Begin no round after this time, even if there are fewer than -m (default: 1m, but at "
       "least -m rounds)"},
      {"--precision PERCENT", &options.precision,
       "Stop when each ratio is known to plus or minus this, or is shown to differ from 1 "
       "(default 1%)"},
      {"--repeat N",
       &options.effort.repeat,
       "Make one sample of N runs one after the other, for very short commands",
       {.range = kAboveZero}},
      {"--timeout TIME", &options.timeout,
       "Stop a run that takes longer; it has failed (default: 10 times the command's first run, "
       "at least 10s)"},
      {"-i,--ignore-failure", &options.effort.ignore_failure,
       "Continue when a command fails; failed runs are counted"}};
}

std::vector<Option> surroundings_rows(TimeRequest& request) {
  return {
      {"-s,--setup COMMAND", &request.setup,
       "Run this once before a command's first run; give it once for all commands, or once for "
       "each"},
      {"-p,--prepare COMMAND", &request.prepare, "Run this before each run, outside its time"},
      {"--conclude COMMAND", &request.conclude, "Run this after each run, outside its time"},
      {"-c,--cleanup COMMAND", &request.cleanup, "Run this at the end, also after a failure"},
      {"-P,--parameter-scan NAME FIRST LAST",
       [&request](const Words& words) {
         for (std::size_t i = 0; i + 2 < words.size(); i += 3)
           request.scans.emplace_back(words[i], words[i + 1], words[i + 2]);
       },
       "Replace {NAME} by each number from FIRST to LAST",
       {.repeatable = true}},
      {"-D,--parameter-step-size STEP", &request.step, "The step of -P (default 1)"},
      {"-L,--parameter-list NAME A,B,C",
       [&request](const Words& words) {
         for (std::size_t i = 0; i + 1 < words.size(); i += 2)
           request.lists.emplace_back(words[i], words[i + 1]);
       },
       "Replace {NAME} by each of these values",
       {.repeatable = true}},
      {"--with WAY", &request.with,
       "Run the commands also with these options of tabane run: 'TAG: OPTIONS' (places, memory, "
       "allocator, huge pages). A command that begins with 'TAG: ' is run only in that way"},
      {"--command-name NAME", &request.names,
       "The name of a command in the results; repeat it, in the order of the commands"}};
}

std::vector<Option> stream_rows(TimeOptions& options) {
  TimeRequest& request = options.request;
  return {
      {"-S,--shell SHELL", &request.shell,
       "Start the commands by this shell (default /bin/sh); none: as -N"},
      {"-N", &options.no_shell, "Start the commands without a shell", {.excludes = {"--shell"}}},
      {"--input FILE", &request.input,
       "Give the commands this file as standard input (default null)"},
      {"--output WHERE", &request.output,
       "Send the commands' output to null (default), pipe (read and thrown away), inherit "
       "(shown) or a file, such as ./out"},
      {"--show-output",
       &options.show_output,
       "Show what the commands print",
       {.excludes = {"--output"}}},
      {"--export-json FILE", &options.export_json, "Write the times as hyperfine's JSON, and more"},
      {"--export-csv FILE", &options.export_csv, "Write a line of figures for each command"},
      {"--export-markdown FILE", &options.export_markdown, "Write a table for a README"},
      {"--export-asciidoc FILE", &options.export_asciidoc, "Write the table as AsciiDoc"},
      {"--export-orgmode FILE", &options.export_orgmode, "Write the table as Emacs org-mode"}};
}

std::vector<Option> result_rows(TimeOptions& options) {
  return {{"-o,--page DIR", &options.output, "Write the page, the figures and the JSON into DIR"},
          options.json.row(),
          {"--sort ORDER",
           &options.sort,
           "Show the results in the order of the commands (command, the default), or the fastest "
           "first (time)",
           {.choices = {"command", "time"}}},
          {"--wide", &options.wide, "Do not fit tables to the width of the terminal"},
          {"-q,--quiet", &options.quiet, "Show no progress and no warnings"}};
}

int run(TimeOptions& options, const Given& given) {
  if (options.no_shell) options.request.shell = "none";
  if (options.show_output) options.request.output = "inherit";
  options.command_line = given.line();
  auto& commands = options.request.commands;
  if (!options.reference.empty()) commands.insert(commands.begin(), options.reference);
  try {
    time_commands(options);
  } catch (const lab::CommandFailed& error) {
    if (error.lines().empty())
      throw WithLines<core::Error>(
          error.what(), "tabane: it left no messages; --show-output shows what it prints");
    for (const std::string& line : error.lines()) fmt::print(stderr, "  {}\n", printable(line));
    throw core::Error(error.what());
  }
  return kOk;
}

Definition define() {
  const auto options = std::make_shared<TimeOptions>();
  return {table({{"COMMAND",
                  &options->request.commands,
                  "Command lines, each one argument; the others are compared with the first",
                  {.required = true}},
                 {"--reference COMMAND", &options->reference,
                  "Compare with this command, as if it was the first; useful with -P and -L"}},
                effort_rows(*options), surroundings_rows(options->request), stream_rows(*options),
                result_rows(*options)),
          [options](const Given& given) { return run(*options, given); }};
}

}  // namespace

extern constinit const Verb time_verb{
    .name = "time",
    .what = "Compare commands in turn: times, memory, and the ratio with its interval",
    .group = "Tune",
    .examples =
        "  tabane time 'sort a' 'sort --parallel=1 a'\n"
        "                                       which is faster, by how much, and how certain "
        "is it\n"
        "  tabane time -P threads 1 8 'xz -T{threads} -k -f file'\n"
        "                                       a parameter from 1 to 8\n"
        "  tabane time -L level 1,6,9 --prepare 'rm -f f.gz' 'gzip -k -{level} f'\n"
        "                                       a list of values, and what to do before each run\n"
        "  tabane time --with 'jemalloc: --malloc jemalloc' --with 'bound: -c 0-3' ./server\n"
        "                                       one command as it is, and with options of tabane "
        "run\n"
        "  tabane time -o page --export-csv times.csv ./a ./b",
    .define = define};

}  // namespace tabane::program
