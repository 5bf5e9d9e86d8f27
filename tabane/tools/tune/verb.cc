// tabane tune: finds what is fastest here, for a command of the user or for the collectives.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "tabane/core/error.h"
#include "tabane/core/output_file.h"
#include "tabane/lab/record_head.h"
#include "tabane/program/args.h"
#include "tabane/program/command.h"
#include "tabane/program/layout.h"
#include "tabane/program/output.h"
#include "tabane/program/run_options.h"
#include "tabane/program/run_study.h"
#include "tabane/tools/tune/collectives.h"
#include "tabane/tools/tune/tune_plan.h"
#include "tabane/tools/tune/tune_record.h"
#include "tabane/tools/tune/tuned_command.h"

namespace tabane::program {
namespace {

constexpr double kUsualBudget = 300;  // seconds

struct TuneOptions : StudyOptions {
  lab::CollectivesOptions collectives_study;
  bool collectives = false;
  std::string rules;  // empty: stdout

  TuneRequest request;
  Judging judging;
  std::string goal = "time", budget, timeout, resume, export_as;
  std::optional<std::string> given_save;
  int runs = 0;
  std::string command_line;

  // Empty: nowhere.
  std::string save() const { return given_save.value_or(resume.empty() ? "tuned.json" : resume); }
};

// ---- collectives ----

void tune_collectives(const TuneOptions& options) {
  const bool to_stdout = options.rules.empty() || is_stdout(options.rules);
  if (to_stdout && options.json.to_stdout())
    throw core::UsageError("--json and the rules would both go to stdout: name a file by --rules");
  if (!to_stdout) require_writable_file("--rules ", options.rules);
  std::string choice;
  run_study(options, [&](const lab::Hooks& hooks) -> std::optional<lab::Record> {
    auto tuning = lab::tune_collectives(core::Topology::detect(), options.collectives_study, hooks);
    if (!tuning) return {};
    choice = std::move(tuning->choice);
    if (!to_stdout && !choice.empty()) core::write_output(options.rules, choice);
    return std::move(tuning->record);
  });
  if (to_stdout && !choice.empty()) fmt::print("\n{}", choice);
}

// ---- a command ----

Judging judging_of(const TuneOptions& options) {
  Judging judging = options.judging;
  for (int goal = 0; goal < static_cast<int>(Goal::metric); ++goal)
    if (options.goal == kGoals[goal].name) judging.goal = static_cast<Goal>(goal);
  if (!judging.metric.empty()) {
    if (options.goal != "time") throw core::UsageError("--metric and --goal exclude each other");
    judging.goal = Goal::metric;
  } else if (judging.higher_is_better) {
    throw core::UsageError("--higher-is-better requires --metric");
  }
  if (!options.timeout.empty()) judging.timeout_seconds = seconds_of("--timeout", options.timeout);
  if (judging.repeat.value_or(1) < 1) throw core::UsageError("--repeat: use at least 1");
  return judging;
}

lab::tune::Budget budget_of(const TuneOptions& options) {
  lab::tune::Budget budget{.runs = options.runs};
  if (!options.budget.empty())
    budget.seconds = seconds_of("--budget", options.budget);
  else if (options.runs == 0)
    budget.seconds = kUsualBudget;
  if (options.runs < 0 || (!options.budget.empty() && budget.seconds <= 0))
    throw core::UsageError("--budget and --runs: use more than 0");
  return budget;
}

class CommandTuning {
 public:
  explicit CommandTuning(const TuneOptions& options)
      : options_(options),
        topology_(core::Topology::detect()),
        judging_(judging_of(options)),
        budget_(budget_of(options)),
        plan_(options.request, topology_, own_variable) {
    lab::require_this_machine(topology_);
    lab::tune::require_one_round(budget_, 0);
    if (!judging_.input.empty()) require_readable_input(judging_.input);
    if (!options.save().empty()) require_place(options.save());
    if (!options.resume.empty()) resume();
  }

  void run() {
    run_study(
        options_,
        [&](const lab::Hooks& hooks) -> std::optional<lab::Record> { return tune(hooks); },
        [&] { print_lines(); });
  }

 private:
  void require_place(const std::string& file) const {
    try {
      require_writable_file("--save ", file);
    } catch (const core::UsageError& error) {
      if (options_.given_save) throw;
      throw core::UsageError("{}; --save '' keeps the tuning nowhere", error.what());
    }
    require_own_file(file);
  }

  // What another command's tuning took long to find is not replaced.
  void require_own_file(const std::string& file) const {
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored) || file == options_.resume) return;
    std::string holds = "is not a tuning";
    try {
      const lab::Json command = lab::tune::kept_of(read_record(file)).value("command", lab::Json());
      if (command == lab::Json(plan_.request().command)) return;
      holds = "holds the tuning of " + shell_line(command.get<std::vector<std::string>>());
    } catch (const core::Error&) {
    } catch (const lab::Json::exception&) {
    }
    throw core::UsageError("--save {}: the file {}; name another file, or remove it", file, holds);
  }

  void resume() {
    const lab::Record record = read_record(options_.resume);
    try {
      if (const auto why = lab::tune::machine_differs(record, topology_); !why.empty())
        throw core::UsageError("it is of another machine: " + why);
      if (lab::tune::kept_of(record).value("command", lab::Json()) !=
          lab::Json(plan_.request().command))
        throw core::UsageError("it tuned another command");
      earlier_ = lab::tune::runs_of(record, plan_.space());
    } catch (const core::UsageError& error) {
      throw core::UsageError("--resume {}: {}", options_.resume, error.what());
    }
  }

  lab::Record tune(const lab::Hooks& hooks) {
    TunedCommand command(plan_, judging_, hooks.stop_requested);
    hooks.progress("the command as started", 0, -1);
    command.try_out(budget_);
    for (const std::string& warning : command.warnings()) warn(warning);
    const auto tuning = lab::tune::tune_command(
        plan_.space(), budget_,
        [&](const lab::tune::Proposal& proposal) { return command.run(proposal); }, hooks,
        earlier_);
    setting_ = plan_.setting(plan_.space().candidates()[use(tuning)]);
    lines_ = lines_of(*setting_, command.is_better_bare(*setting_));
    lab::Record record =
        lab::tune::tune_record(topology_, plan_.space(), tuning, header(command.warnings()));
    if (!options_.save().empty())
      core::write_output(options_.save(), lab::to_json(record).dump(1) + "\n");
    headline_ = record.sentences.back();
    return record;
  }

  // What the lines are made for: what is proved, or the best so far of a tuning that was stopped.
  static std::size_t use(const lab::tune::Tuning& tuning) {
    const bool stopped = tuning.proof && !tuning.proof->fresh && tuning.proof->ratio.value > 1;
    return stopped ? tuning.best : tuning.chosen();
  }

  void warn(const std::string& warning) const {
    if (!options_.quiet) fmt::print(stderr, "tabane: {}\n", printable(warning));
  }

  // How to start the command from now on; the first is the one that was proved.
  struct StartLines {
    std::string to_use, other, what_is_other;
  };
  StartLines lines_of(const CommandSetting& setting, bool bare) const {
    const std::string with = plan_.line(setting), without = plan_.bare_line(setting);
    if (setting.as_started || with == without) return {with, "", ""};
    if (!bare) return {with, without, "or, without tabane"};
    return {without, with, "or, by tabane, which takes some 10 ms more to start"};
  }

  lab::tune::TuningHeader header(std::vector<std::string> warnings) const {
    const TuneRequest& request = plan_.request();
    lab::Json kept = {{"command", request.command},
                      {"launcher", request.launcher},
                      {"shards", request.shards},
                      {"setting", to_json(*setting_)}};
    const bool metric = judging_.goal == Goal::metric;
    return {.command = shell_line(request.command),
            .command_line = options_.command_line,
            .goal = goal_text(),
            .unit = kGoals[static_cast<int>(judging_.goal)].unit,
            .inverted = metric && judging_.higher_is_better,
            .line = lines_.to_use,
            .other_line = lines_.other,
            .kept = std::move(kept),
            .left_out = plan_.left_out(),
            .warnings = std::move(warnings)};
  }

  // "metric 'GFLOPS: ([0-9.]+)'"
  std::string goal_text() const {
    const std::string what = kGoals[static_cast<int>(judging_.goal)].what;
    return judging_.goal == Goal::metric ? fmt::format("{} '{}'", what, judging_.metric) : what;
  }

  std::string line_by_file() const {
    const TuneRequest& request = plan_.request();
    std::vector<std::string> words = {"tabane", "run", "--tuned", options_.save()};
    if (!request.launcher.empty()) words.insert(words.end(), {"--launcher", request.launcher});
    for (const std::string& vary : request.vary) words.insert(words.end(), {"--vary", vary});
    words.emplace_back("--");
    words.insert(words.end(), request.command.begin(), request.command.end());
    return shell_line(words);
  }

  void print_lines() const {
    if (options_.json.to_stdout() || !setting_) return;
    if (options_.export_as == "slurm") {
      warn(headline_);
      fmt::print("{}", plan_.slurm_script(*setting_));
      return;
    }
    if (setting_->as_started) return;
    fmt::print("\nUse from now on\n\n  {}\n", lines_.to_use);
    if (!lines_.other.empty()) fmt::print("\n{}\n\n  {}\n", lines_.what_is_other, lines_.other);
    if (!options_.save().empty()) fmt::print("\nor\n\n  {}\n", line_by_file());
  }

  const TuneOptions& options_;
  core::Topology topology_;
  Judging judging_;
  lab::tune::Budget budget_;
  TunePlan plan_;
  std::vector<lab::tune::TunedRun> earlier_;
  std::optional<CommandSetting> setting_;  // once it is known
  StartLines lines_;
  std::string headline_;
};

// What it printed is told before what is wrong with it.
void tune_command(const TuneOptions& options) {
  try {
    CommandTuning(options).run();
  } catch (const WithLines<core::Error>& error) {
    for (const std::string& line : error.lines()) fmt::print(stderr, "{}\n", printable(line));
    throw core::Error(error.what());
  }
}

std::vector<Option> varying_rows(TuneRequest& request) {
  return {
      {"--vary NAME=VALUES", &request.vary,
       "Vary {NAME} in the command: NAME=64,128,256 or NAME=1..9 or NAME=0..100:25; the first "
       "value is the one that you use now. What is printed may differ then: --check tells right "
       "from wrong"},
      {"--launcher LINE", &request.launcher,
       "Start the command by LINE, which contains {processes}, and vary that number"},
      {"--shards", &request.shards,
       "Start the command {processes} times at once, with {index} from 0; all must end"},
      {"--start NAME=N", &request.start,
       "The numbers that you use now for the placeholders of the command: threads=N, processes=N "
       "(default: all PUs, and 1)"},
      {"--only LIST",
       &request.only,
       "Vary only these: processes, threads, placement, memory, allocator, huge-pages, arenas, "
       "names of --vary",
       {.commas = true}},
      {"--without LIST", &request.without, "Do not vary these", {.commas = true}},
      {"--most-processes N",
       &request.most_processes,
       "Try at most N processes",
       {.range = kAboveZero}},
      {"--most-threads N", &request.most_threads, "Try at most N threads", {.range = kAboveZero}},
      {"--oversubscribe", &request.oversubscribe, "Try up to twice as many threads as PUs"}};
}

std::vector<Option> judging_rows(TuneOptions& options) {
  Judging& judging = options.judging;
  return {
      {"--goal WHAT",
       &options.goal,
       "What to optimise for: time (default), cpu, memory, cost (PUs x time)",
       {.choices = {"time", "cpu", "memory", "cost"}}},
      {"--metric REGEX", &judging.metric,
       "Optimise for the number that this regular expression (as of grep -E) finds in its first "
       "group, in what the command prints; the last match counts, and less is better"},
      {"--higher-is-better", &judging.higher_is_better, "With --metric: more is better"},
      {"--check LINE", &judging.check,
       "Run LINE after each run; where it fails the candidate is not used"},
      {"--ignore-output", &judging.ignore_output,
       "Accept candidates that print something different from the command as started"},
      {"--prepare LINE", &judging.prepare, "Run LINE before each run, outside its time"},
      {"--input FILE", &judging.input, "Give the command FILE as its standard input"},
      {"--timeout TIME", &options.timeout, "End runs after TIME; default: 10 times the first run"},
      {"--repeat N",
       &judging.repeat,
       "Make one sample of N runs (default: as many as take 100 ms)",
       {.range = kAboveZero}}};
}

std::vector<Option> effort_rows(TuneOptions& options) {
  return {
      {"-w,--warmup N",
       &options.judging.warmups,
       "First run the command N times as started; these runs do not count (default, and at least, "
       "2: they show whether it prints the same each time)",
       {.range = kFromZero}},
      {"--budget TIME", &options.budget, "Take about this time (default: 5m)"},
      {"-r,--runs N", &options.runs, "Take at most N runs", {.range = kAboveZero}},
      {"--save FILE", &options.given_save,
       "Keep the tuning in FILE, for --resume and 'tabane run --tuned' (default: tuned.json, "
       "or what --resume names; '' for nowhere)"},
      {"--resume FILE", &options.resume, "Continue the tuning in FILE"},
      {"--export WHAT",
       &options.export_as,
       "Print a batch script instead of the tables: slurm",
       {.choices = {"slurm"}}}};
}

int run(TuneOptions& options, const Given& given) {
  options.command_line = options.collectives_study.command_line = command_line_of(given);
  const bool has_command = !options.request.command.empty();
  if (options.collectives) {
    if (has_command) throw core::UsageError("--collectives takes no command");
    tune_collectives(options);
  } else {
    if (!has_command) throw core::UsageError("give a command after --, or --collectives");
    options.tables = options.export_as.empty();
    if (!options.tables && options.json.to_stdout())
      throw core::UsageError(
          "--json and the script would both go to stdout: name a file by --json=FILE");
    tune_command(options);
  }
  return kOk;
}

Definition define() {
  const auto options = std::make_shared<TuneOptions>();
  std::vector<Option> of_command =
      table(varying_rows(options->request), judging_rows(*options), effort_rows(*options));
  for (Option& option : of_command) option.rules.excludes.emplace_back("--collectives");
  std::vector<Option> of_both =
      options->rows(options->collectives_study.quick,
                    "With --collectives: take 20 s instead of 90 s, with fewer samples");
  std::vector<Option> of_ranks = rank_rows(options->collectives_study.ranks);
  const Words collectives = {"--collectives"};
  of_both.front().rules.needs = collectives;  // --quick
  for (Option& option : of_ranks) option.rules.needs = collectives;
  return {
      table(of_command,
            std::vector<Option>{{"--collectives", &options->collectives,
                                 "Instead of a command, measure every algorithm of the collectives "
                                 "on ranks (--transport, -n), and write rules for when to use "
                                 "which"},
                                {"--rules FILE",
                                 &options->rules,
                                 "Write the rules of the collectives to FILE (default: stdout)",
                                 {.needs = collectives}}},
            of_both, of_ranks,
            std::vector<Option>{{"COMMAND",
                                 &options->request.command,
                                 "The command with its arguments, after --",
                                 {.is_command = true}}}),
      [options](const Given& given) { return run(*options, given); }};
}

}  // namespace

extern constinit const Verb tune_verb{
    .name = "tune",
    .what = "Find what makes a command fastest on this machine",
    .group = "Tune",
    .examples =
        "  tabane tune --metric 'GFLOPS: ([0-9.]+)' --higher-is-better -- ./solver\n"
        "                                       the threads, places and memory for the best "
        "number\n"
        "  tabane tune --budget 2m --ignore-output -- xz -T{threads} -kc data\n"
        "                                       the number of threads is part of the command\n"
        "  tabane tune --launcher 'mpirun -n {processes}' -- ./simulation input\n"
        "  tabane tune --shards -- ./convert --part {index} --of {processes}\n"
        "  tabane tune --vary block=64,128,256 --only threads,block -- ./multiply {block}\n"
        "  tabane run --tuned tuned.json -- ./solver\n"
        "                                       afterwards: as it was found to be best\n"
        "  tabane tune --collectives --rules collectives.txt",
    .define = define};

}  // namespace tabane::program
