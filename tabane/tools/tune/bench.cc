// The tuner of commands: how near to the best it comes, beside Optuna's TPE and random search at
// the same number of runs, and how often it names a winner where there is none.
#include "bench/bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <sstream>

#include "bench/command.h"
#include "bench/remote.h"
#include "tabane/core/error.h"
#include "tabane/core/file.h"
#include "tabane/core/temporary_file.h"
#include "tabane/tools/tune/synthetic_command_test.h"
#include "tabane/tools/tune/tuning.h"

namespace tabane::bench {
namespace {

using namespace lab::tune;

constexpr std::size_t kRunsShare = 5;  // a fifth of the candidates
constexpr double kDisturbed = 0.05;
constexpr std::uint64_t kSeed = 20261122;

struct Commands {
  std::vector<std::unique_ptr<SyntheticCommand>> all;

  // disturbed: share of their runs.
  explicit Commands(int count, double disturbed = 0) {
    std::mt19937_64 random(kSeed);
    for (int i = 0; i < count; ++i) {
      const SyntheticMachine& machine = i % 2 == 0 ? k72Pus : k512Pus;
      SyntheticLaw law = draw_law(machine, random);
      law.disturbed = disturbed;
      all.push_back(std::make_unique<SyntheticCommand>(machine, law, random()));
    }
  }
};

int runs_of(const SyntheticCommand& command) {
  return static_cast<int>(command.space().candidates().size() / kRunsShare);
}

double regret(const SyntheticCommand& command, std::size_t candidate) {
  return command.true_seconds(candidate) / command.least_seconds() - 1;
}

std::size_t by_search(SyntheticCommand& command) {
  Search search(command.space(), {.runs = runs_of(command)});
  while (const auto proposal = search.next()) {
    RunResult outcome = command.run(proposal->candidate);
    if (outcome.value > proposal->limit) {
      outcome.value = proposal->limit;
      outcome.stopped = true;
    }
    search.tell(*proposal, outcome);
  }
  return search.choice();
}

// Each candidate at most once; the least time seen.
std::size_t at_random(SyntheticCommand& command, std::mt19937_64& random) {
  std::vector<std::size_t> order(command.space().candidates().size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin() + 1, order.end(), random);  // the command as started is first
  std::size_t best = 0;
  double least = command.run(0).value;
  for (std::size_t i = 1; i < static_cast<std::size_t>(runs_of(command)); ++i) {
    const double seconds = command.run(order[i]).value;
    if (seconds < least) least = seconds, best = order[i];
  }
  return best;
}

// A line of what tune_optuna.py reads.
std::string line_of(const SyntheticCommand& command) {
  lab::Json factors = lab::Json::array(), candidates = lab::Json::array();
  for (const Dimension& dimension : command.space().dimensions())
    factors.push_back({{"ordered", !dimension.amounts.empty()}, {"order", dimension.by_amount()}});
  for (std::size_t i = 0; i < command.space().candidates().size(); ++i)
    candidates.push_back(
        {{"levels", command.space().candidates()[i]}, {"seconds", command.true_seconds(i)}});
  const lab::Json line = {{"factors", factors},
                          {"candidates", candidates},
                          {"runs", runs_of(command)},
                          {"noise", SyntheticLaw{}.noise}};
  return line.dump() + "\n";
}

std::vector<double> by_optuna(const Commands& commands, const std::string& python) {
  const core::ScratchFolder folder("tabane-bench-tune");
  std::string lines;
  for (const auto& command : commands.all) lines += line_of(*command);
  core::write_file(folder / "commands", lines);
  run_command(shell(fmt::format("{} {} {} > {}", python, beside_this_program("tune_optuna.py"),
                                (folder / "commands").string(), (folder / "found").string())));
  std::istringstream found(core::read_file(folder / "found"));
  std::vector<double> regrets;
  std::size_t candidate = 0;
  while (found >> candidate) regrets.push_back(regret(*commands.all[regrets.size()], candidate));
  return regrets;
}

// The Python that has Optuna; empty: none has.
std::string python_with_optuna() {
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    if (!version_said_by(std::string(python) + " -c 'import optuna; print(optuna.__version__)'")
             .empty())
      return python;
  }
  return "";
}

double share_within(const std::vector<double>& regrets, double most) {
  const auto within = std::ranges::count_if(regrets, [&](double r) { return r <= most; });
  return double(within) / double(regrets.size());
}

class Tuning300 {
 public:
  explicit Tuning300(Panel& panel) : panel_(panel) {}

  void ask() {
    const std::string question = "regret, synthetic commands, a fifth of the runs";
    const std::string disturbed = question + ", one in 20 disturbed";
    table_.columns = {"tuner", "commands", "median regret", "90 %", "worst", "within 5 %"};
    if (panel_.wants(question)) ask_undisturbed(question);
    if (panel_.wants(disturbed)) ask_disturbed(disturbed);
    if (!table_.rows.empty()) show();
  }

 private:
  int count() const { return panel_.settings().quick ? 30 : 300; }

  void ask_undisturbed(const std::string& question) {
    Commands commands(count());
    const auto [ours, theirs] = tune(commands);
    row("tabane tune", ours);
    row("random search", theirs);
    figure(question, "median, beside half that of random search", ours, theirs);
    const std::string python = python_with_optuna();
    try {
      if (python.empty()) throw core::Error("Optuna is not installed");
      const std::vector<double> tpe = by_optuna(commands, python);
      row("Optuna TPE " +
              version_said_by(python + " -c 'import optuna; print(optuna.__version__)'"),
          tpe);
      figure(question, "median, beside half that of TPE", ours, tpe);
    } catch (const core::Error& error) {
      panel_.skip(question, error.what(), "Optuna TPE");
    }
    within(question, ours);
  }

  void show() {
    panel_.show({.name = "tune.regret",
                 .title = "How far from the best: synthetic commands, a fifth of the runs",
                 .note = "True time of the chosen candidate over that of the best, minus 1. Laws "
                         "with contention, coherency, NUMA nodes, second PUs, allocators and "
                         "memory, drawn from a fixed seed; 72 and 512 PUs; 5 % noise. Disturbed "
                         "runs take 2 to 3 times as long. Runs that confirm the winner are not "
                         "counted: only tabane makes them.",
                 .content = table_});
  }

  // Regrets of tabane and of random search.
  static std::pair<std::vector<double>, std::vector<double>> tune(const Commands& commands) {
    std::mt19937_64 random(kSeed);
    std::pair<std::vector<double>, std::vector<double>> regrets;
    for (const auto& command : commands.all) {
      regrets.first.push_back(regret(*command, by_search(*command)));
      regrets.second.push_back(regret(*command, at_random(*command, random)));
    }
    return regrets;
  }

  void ask_disturbed(const std::string& question) {
    const auto [ours, theirs] = tune(Commands(count(), kDisturbed));
    row("tabane tune, one run in 20 disturbed", ours);
    row("random search, one run in 20 disturbed", theirs);
    figure(question, "median, beside half that of random search", ours, theirs);
    within(question, ours);
  }

  void within(const std::string& question, const std::vector<double>& ours) {
    panel_.tell({.question = question,
                 .unit = "share",
                 .figure = "commands tuned to within 5 % of their best",
                 .value = share_within(ours, 0.05),
                 .limit = 0.9,
                 .at_least = true});
  }

  void row(const std::string& name, std::vector<double> regrets) {
    std::ranges::sort(regrets);
    table_.rows.push_back(
        {name, lab::Entry(double(regrets.size()), "1"), lab::Entry(core::median(regrets), "share"),
         lab::Entry(core::quantile(regrets, 0.9), "share"), lab::Entry(regrets.back(), "share"),
         lab::Entry(share_within(regrets, 0.05), "share")});
  }

  void figure(const std::string& question, const std::string& what, const std::vector<double>& ours,
              const std::vector<double>& peer) {
    panel_.tell({.question = question,
                 .unit = "share",
                 .figure = what,
                 .value = core::median(ours),
                 .limit = core::median(peer) / 2});
  }

  Panel& panel_;
  lab::Rows table_;
};

void ask_false_winners(Panel& panel) {
  const std::string question = "winners named where nothing matters";
  if (!panel.wants(question)) return;
  const int tunings = panel.settings().quick ? 20 : 100;
  int winners = 0;
  for (int i = 0; i < tunings; ++i) {
    SyntheticLaw law{.nothing_matters = true};
    SyntheticCommand command(k72Pus, law, kSeed + static_cast<std::uint64_t>(i));
    const Tuning tuning =
        tune_command(command.space(), {.runs = 100},
                     [&](const Proposal& proposal) { return command.run(proposal.candidate); });
    winners += tuning.chosen() != 0;
  }
  panel.tell({.question = question,
              .unit = "1",
              .figure = fmt::format("of {} tunings", tunings),
              .value = double(winners),
              .limit = 0.05 * tunings});
}

void ask_all(Panel& panel) {
  Tuning300(panel).ask();
  ask_false_winners(panel);
}

const RegisteredTopic kTopic({"tune", "tuning of commands", ask_all});

}  // namespace
}  // namespace tabane::bench
