// tabane survey: measures this machine and writes the report.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/core/topology.h"
#include "tabane/lab/page/report.h"
#include "tabane/lab/probe.h"
#include "tabane/lab/survey/disturbances.h"
#include "tabane/lab/survey/survey.h"
#include "tabane/program/command.h"
#include "tabane/program/layout.h"
#include "tabane/program/output.h"
#include "tabane/program/progress.h"
#include "tabane/program/run_study.h"

namespace tabane::program {
namespace {

struct VerbOptions {
  std::vector<std::string> only;
  std::optional<std::string> given_directory;
  bool list = false;
  bool wide = false;
  bool quick = false;
  bool quiet = false;
  bool force = false;
  std::optional<std::string> wait_idle;  // "-": as long as usual
  JsonOption json;
  std::string command_line;
  std::string directory;
};

// No survey is replaced unless --force is given: without -o the directory gets a date.
std::string free_directory(const VerbOptions& options) {
  const std::string name = options.given_directory.value_or("tabane-report");
  if (options.force || !std::filesystem::exists(std::filesystem::path(name) / "survey.json"))
    return name;
  if (!options.given_directory)
    return fmt::format("{}-{:%Y-%m-%d-%H%M%S}", name, fmt::localtime(std::time(nullptr)));
  throw core::UsageError("-o {}: it holds a survey; name another directory, or give --force", name);
}

constexpr double kBusyPus = 0.2;

// Over the last second.
double busy_with_others() {
  const lab::OthersLoad others;
  std::this_thread::sleep_for(std::chrono::seconds(1));
  return others.busy_pus().value_or(0);
}

double seconds_to_wait(const VerbOptions& options) {
  const std::string text = options.wait_idle.value_or("0");
  return text == "-" ? 60 : seconds_of("--wait-idle", text);
}

// Says that the machine is busy before anything is measured, and waits if that was asked for.
void look_for_others(const VerbOptions& options, double seconds) {
  if (options.quiet && !options.wait_idle) return;
  double busy = busy_with_others();
  if (busy > kBusyPus && seconds > 0 && !options.quiet)
    fmt::print(stderr, "tabane survey: waiting, for other programs keep {:.1f} PUs busy\n", busy);
  for (double waited = 1; busy > kBusyPus && waited < seconds && !StopOnSignal::requested();
       ++waited)
    busy = busy_with_others();
  if (busy > kBusyPus && !options.quiet)
    fmt::print(stderr,
               "warning: other programs keep {:.1f} PUs busy, which changes the figures; stop "
               "them, or give --wait-idle\n",
               busy);
}

void list_probes(const VerbOptions& options) {
  const auto probes = lab::select_probes(lab::all_probes(core::Topology::detect()), options.only);
  std::vector<std::vector<std::string>> rows = {
      {"PROBE", "UNIT", "BETTER", "VERSION", "MEASURES", "LIMIT"}};
  for (const lab::Probe& probe : probes) {
    const char* better = probe.better == lab::Better::higher  ? "higher"
                         : probe.better == lab::Better::lower ? "lower"
                                                              : "neither";
    rows.push_back({probe.name, probe.unit, better, std::to_string(probe.version), probe.what,
                    probe.limit_how.empty() ? "none known" : probe.limit_how});
  }
  std::fputs(fit_table(rows, layout_width(STDOUT_FILENO, options.wide)).c_str(), stdout);
}

void print_advice(const lab::Record& record, std::size_t width) {
  if (record.advice.empty() && !lab::can_advise(record)) return;
  fmt::print("\nWhat to change here{}\n", record.advice.empty() ? ": nothing was found." : ":");
  for (const lab::Advice& advice : record.advice) {
    fmt::print("{}\n", wrap_text(fmt::format("- {}: {}.", advice.change, advice.gain), width, 2));
    if (!advice.command.empty()) fmt::print("    {}\n", advice.command);
  }
}

void print_end(const lab::Record& record) {
  const std::size_t width = layout_width(STDOUT_FILENO);
  for (const lab::Skipped& skipped : record.skipped)
    fmt::print("{}\n", wrap_text(skipped.name + " not measured: " + skipped.reason, width, 4));
  print_advice(record, width);
  fmt::print("\n");
  for (const std::string& sentence : record.sentences)
    fmt::print("{}\n", wrap_text(sentence, width));
}

// Every probe's figures are saved as soon as they are known; the report is made at the end.
lab::Hooks make_hooks(const VerbOptions& options, ProgressLine& progress, bool to_directory) {
  const bool text = !options.json.to_stdout() && !options.quiet;
  lab::Hooks hooks;
  hooks.stop_requested = [] { return StopOnSignal::requested(); };
  hooks.progress = [&progress](const std::string& probe, double done, double left) {
    progress.show(probe, done, left);
  };
  // The first pass has all names before the last one has results.
  const auto name_width = std::make_shared<std::size_t>(kFewestNameColumns);
  hooks.on_result = [&progress, text, name_width](const lab::Result& result) {
    if (!text) return;
    progress.clear();
    fmt::print("{}\n", result_line(result, *name_width));
    std::fflush(stdout);
  };
  hooks.on_first_result = [&progress, text, name_width](const lab::Result& result) {
    *name_width = std::max(*name_width, result.name.size());
    if (!text) return;
    progress.clear();
    fmt::print(stderr, "first pass: {}\n", result_line(result, *name_width));
  };
  hooks.on_probe_done = [&options, to_directory](const lab::Record& record) {
    if (!to_directory) return;
    core::write_output(std::filesystem::path(options.directory) / "survey.json",
                       lab::to_json(record).dump(1) + "\n");
  };
  return hooks;
}

void write_results(const VerbOptions& options, const lab::Record& record,
                   const core::Topology& topology, bool to_directory) {
  options.json.write(lab::to_json(record));
  if (!to_directory) return;
  const std::filesystem::path directory = options.directory;
  core::write_output(directory / "survey.json", lab::to_json(record).dump(1) + "\n");
  core::write_output(directory / "topology.svg", lab::topology_svg(topology, record));
  if (const std::string xml = core::Topology::xml(); !xml.empty())
    core::write_output(directory / "topology.xml", xml);
  if (const auto remark = lab::write_report(record, directory))
    fmt::print(stderr, "tabane: {}\n", *remark);
  if (!options.quiet) {
    fmt::print(options.json.to_stdout() ? stderr : stdout, "\nThe report: {}\n",
               (std::filesystem::absolute(directory) / "report.html").lexically_normal().string());
  }
}

int run(VerbOptions& options) {
  if (options.list) {
    list_probes(options);
    return kOk;
  }
  // JSON alone asks for no directory.
  const bool to_directory = options.given_directory || !options.json.given();
  options.json.check();
  const double idle_seconds = seconds_to_wait(options);
  const core::Topology topology = core::Topology::detect();
  lab::check_survey(topology, options.only);
  if (to_directory) {
    options.directory = free_directory(options);
    require_writable_directory(options.directory);
  }
  if (!options.quiet && !options.json.to_stdout()) fmt::print("{}\n\n", topology.summary());
  std::fflush(stdout);

  const StopOnSignal stop;
  look_for_others(options, idle_seconds);
  ProgressLine progress(options.quiet);
  const lab::Record record = lab::run_survey(
      topology,
      {.only = options.only, .quick = options.quick, .command_line = options.command_line},
      make_hooks(options, progress, to_directory));
  progress.clear();
  if (!options.quiet) {
    if (!options.json.to_stdout()) print_end(record);
    print_warnings(record);
  }
  write_results(options, record, topology, to_directory);
  if (!record.complete) fmt::print(stderr, "tabane: stopped; what was measured is kept\n");
  StopOnSignal::die_as_asked();
  return kOk;
}

Definition define() {
  const auto options = std::make_shared<VerbOptions>();
  return {
      {{"--list",
        &options->list,
        "List the probes of this machine and measure nothing",
        {.excludes = {"--json"}}},
       {"--wide", &options->wide, "With --list: one line per probe, however long"},
       {"--only PATTERN,...",
        &options->only,
        "Measure only the probes that match a pattern ('simd.*.l1') or are below a name "
        "(clock); separate several by commas, or repeat the option",
        {.commas = true}},
       {"--quick", &options->quick,
        "Take about 30 s, with fewer samples and passes; intervals cover only that time"},
       {"-o,--output DIR", &options->given_directory,
        "Write survey.json, report.html, the figures, and topology.svg and .xml, which show the "
        "machine, into DIR (default tabane-report, with a date if it holds a survey)"},
       {"--force", &options->force, "Replace the survey that DIR holds"},
       {"--wait-idle[=TIME]", [options](const Words& words) { options->wait_idle = words.back(); },
        "Wait until other programs are idle, at most for TIME (default 60s)"},
       options->json.row(),
       {"-q,--quiet", &options->quiet, "Show no progress, table or warnings"}},
      [options](const Given& given) {
        options->command_line = given.verb;
        if (options->quick) options->command_line += " --quick";
        for (const std::string& pattern : options->only)
          options->command_line += fmt::format(" --only '{}'", pattern);
        return run(*options);
      }};
}

}  // namespace

extern constinit const Verb survey_verb{
    .name = "survey",
    .what = "Measure this machine and show how close to its limits it runs",
    .group = "Measure",
    .examples =
        "  tabane survey                     takes two minutes, writes into "
        "tabane-report/report.html\n"
        "  tabane survey --quick -o there    takes half a minute, writes into there/\n"
        "  tabane survey --only 'simd.*.l1',clock\n"
        "  tabane survey --quick --json | jq '.results[] | {name, value, unit}'",
    .define = define};

}  // namespace tabane::program
