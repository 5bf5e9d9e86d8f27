#include "tabane/lab/tune/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tabane/core/error.h"
#include "tabane/core/units.h"

namespace tabane::lab::tune {
namespace {

constexpr double kProofShare = 0.25;    // of the budget
constexpr std::size_t kMostPairs = 40;  // of the proof
constexpr double kProofRuns = 2.0 * kFewestPairs;
constexpr double kFewestSearchRuns = 6;  // of the command as started: what a budget must hold
constexpr double kUnlimited = std::numeric_limits<double>::infinity();

class Tuner {
 public:
  Tuner(const Space& space, const Budget& budget, const RunCandidate& run, const Hooks& hooks)
      : space_(space), budget_(budget), run_(run), hooks_(hooks) {
    tuning_.search = std::make_unique<Search>(space, SearchLimits{});
  }

  Tuning tune(const std::vector<Run>& earlier) {
    const double start = core::tick_clock().now();
    resume(earlier);
    try {
      if (earlier.empty()) first_run();
      limit_search();
      while (const auto trial = search().next()) search_step(*trial);
      tuning_.best = search().choice();
      prove();
      tuning_.complete = true;
    } catch (const Stopped&) {
      tuning_.best = search().choice();
      if (!tuning_.proof && tuning_.best != 0) {
        Proof raced = in_race(tuning_.runs, 0, tuning_.best);
        if (raced.ratio.pairs > 0) tuning_.proof = std::move(raced);
      }
    }
    tuning_.seconds = core::tick_clock().now() - start;
    return std::move(tuning_);
  }

 private:
  Search& search() { return *tuning_.search; }

  void resume(const std::vector<Run>& earlier) {
    for (const Run& run : earlier) {
      if (run.trial.phase != Phase::proof) search().tell(run.trial, run.outcome);
      tuning_.runs.push_back(run);
    }
    first_ = tuning_.runs.size();
  }

  Outcome run(const Trial& trial) {
    if (hooks_.stop_requested()) throw Stopped();
    hooks_.progress(what(trial), done(), left());
    const Outcome outcome = run_(trial);
    spent_ += outcome.seconds;
    tuning_.runs.push_back({trial, outcome});
    return outcome;
  }

  void search_step(const Trial& trial) { search().tell(trial, run(trial)); }

  void first_run() {
    const Outcome outcome = run({});
    if (!outcome.refused.empty())
      throw core::Error("the command as started does not work: " + outcome.refused);
    search().tell({}, outcome);
  }

  double runs_done() const { return double(tuning_.runs.size() - first_); }

  // Seconds of one run of the command as started.
  double base_seconds() const {
    std::vector<double> seconds;
    for (const Run& run : tuning_.runs)
      if (run.trial.candidate == 0 && run.outcome.refused.empty())
        seconds.push_back(run.outcome.seconds);
    return seconds.empty() ? 0 : core::median(seconds);
  }

  // What is left for the search when the proof has its part.
  void limit_search() {
    const double pairs = kProofRuns, base = base_seconds();
    require_one_round(budget_, base);
    SearchLimits limits;
    if (budget_.runs > 0)
      limits.most_runs = int(search().runs() - runs_done() + budget_.runs -
                             std::max(pairs, std::min(kProofShare * budget_.runs, 80.0)));
    if (budget_.seconds > 0)
      limits.most_seconds =
          search().seconds() - spent_ + budget_.seconds -
          std::max(pairs * base, std::min(kProofShare * budget_.seconds, 2 * kMostPairs * base));
    search().set_limits(limits);
  }

  // As many pairs as the budget holds, decided before the first of them is seen.
  std::size_t affordable_pairs() const {
    double pairs = kMostPairs;
    if (budget_.runs > 0) pairs = std::min(pairs, (budget_.runs - runs_done()) / 2);
    if (budget_.seconds > 0)
      pairs = std::min(pairs, (budget_.seconds - spent_) / (2 * base_seconds()));
    return std::clamp<std::size_t>(std::size_t(std::max(pairs, 0.0)), kFewestPairs, kMostPairs);
  }

  void prove() {
    if (tuning_.best == 0) return;
    std::mt19937_64 random(runs_done() + 1);
    Proof& proof = tuning_.proof.emplace();
    const std::size_t pairs = affordable_pairs();
    for (std::size_t i = 0; i < pairs; ++i) {
      double values[2] = {};
      const bool winner_first = random() % 2 == 0;
      for (const bool winner : {winner_first, !winner_first}) {
        const Trial trial{.candidate = winner ? tuning_.best : 0,
                          .phase = Phase::proof,
                          .round = static_cast<int>(i) + 1};
        const Outcome outcome = run(trial);
        if (!outcome.refused.empty()) {
          // It failed when it was to be trusted: nothing is proved.
          proof = {};
          return;
        }
        values[winner] = outcome.value;
      }
      proof.as_started.push_back(values[0]);
      proof.winner.push_back(values[1]);
      proof.ratio = core::interleaved_ratio(proof.as_started, proof.winner);
    }
  }

  double done() const {
    double share = 0;
    if (budget_.runs > 0) share = runs_done() / budget_.runs;
    if (budget_.seconds > 0) share = std::max(share, spent_ / budget_.seconds);
    return std::min(share, 1.0);
  }

  double left() const {
    double seconds = kUnlimited;
    if (budget_.seconds > 0) seconds = budget_.seconds - spent_;
    if (budget_.runs > 0 && runs_done() > 0)
      seconds = std::min(seconds, (budget_.runs / runs_done() - 1) * spent_);
    return std::isfinite(seconds) ? std::max(0.0, seconds) : -1;
  }

  std::string what(const Trial& trial) {
    if (tuning_.runs.empty()) return "the command as started";
    const std::size_t best = search().best();
    const double gain = std::exp(search().belief(0).mean - search().belief(best).mean);
    std::string text(to_string(trial.phase));
    if (best != 0 && std::isfinite(gain))
      text += fmt::format(", best {:.2f} x: {}", gain, space_.text(space_.candidates()[best]));
    return text;
  }

  const Space& space_;
  Budget budget_;
  const RunCandidate& run_;
  const Hooks& hooks_;
  Tuning tuning_;
  std::size_t first_ = 0;  // of this tuning among the runs
  double spent_ = 0;
};

}  // namespace

bool Proof::wins() const { return fresh && ratio.pairs >= kFewestPairs && surely_better(ratio); }

void require_one_round(const Budget& budget, double run_seconds) {
  const double least = kProofRuns + kFewestSearchRuns;
  if (budget.runs > 0 && budget.runs < least)
    throw core::UsageError(fmt::format(
        "--runs {}: too few for one round and its proof; use at least {:.0f}", budget.runs, least));
  if (budget.seconds > 0 && budget.seconds < least * run_seconds)
    throw core::UsageError(fmt::format(
        "--budget {}: one run of the command takes {}, and one round with its proof {}; use at "
        "least that, or a smaller problem",
        core::format_seconds(budget.seconds), core::format_seconds(run_seconds),
        core::format_seconds(least * run_seconds)));
}

Tuning tune_command(const Space& space, const Budget& budget, const RunCandidate& run,
                    const Hooks& hooks, const std::vector<Run>& earlier) {
  return Tuner(space, budget, run, hooks).tune(earlier);
}

Proof in_race(const std::vector<Run>& runs, std::size_t as_started, std::size_t winner) {
  std::map<int, std::pair<double, double>> rounds;
  for (const Run& run : runs) {
    if (run.trial.phase != Phase::racing || !run.outcome.refused.empty() || run.outcome.stopped)
      continue;
    if (run.trial.candidate == as_started) rounds[run.trial.round].first = run.outcome.value;
    if (run.trial.candidate == winner) rounds[run.trial.round].second = run.outcome.value;
  }
  Proof proof;
  proof.fresh = false;
  for (const auto& [round, values] : rounds) {
    if (values.first <= 0 || values.second <= 0) continue;
    proof.as_started.push_back(values.first);
    proof.winner.push_back(values.second);
  }
  if (!proof.winner.empty()) proof.ratio = core::interleaved_ratio(proof.as_started, proof.winner);
  return proof;
}

}  // namespace tabane::lab::tune
