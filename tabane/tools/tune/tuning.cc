#include "tabane/tools/tune/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "tabane/core/error.h"
#include "tabane/core/units.h"

namespace tabane::lab::tune {
namespace {

constexpr double kEarlyShare = 0.15;    // of the budget, for the proof during the search
constexpr double kEndShare = 0.15;      // of the budget, for the proof after it
constexpr std::size_t kMostPairs = 40;  // after the search
constexpr double kProofRuns = 2.0 * kFewestPairs;
constexpr double kWorthSpreading = 18;   // runs of a search, from which some are spent on the proof
constexpr double kFewestSearchRuns = 6;  // of the command as started: what a budget must hold
constexpr double kQuietSpread = 5;       // of quiet runs, in median steps from one run to the next
constexpr double kUnlimited = std::numeric_limits<double>::infinity();

class Tuner {
 public:
  Tuner(const Space& space, const Budget& budget, const RunCandidate& run, const Hooks& hooks)
      : space_(space), budget_(budget), run_(run), hooks_(hooks) {
    tuning_.search = std::make_unique<Search>(space, Budget{});
  }

  Tuning tune(const std::vector<TunedRun>& earlier) {
    const double start = core::tick_clock().now();
    resume(earlier);
    try {
      if (earlier.empty()) first_run();
      limit_search();
      while (const auto proposal = search().next()) {
        search().tell(*proposal, run(*proposal));
        prove_meanwhile();
      }
      tuning_.best = search().choice();
      prove();
      tuning_.complete = true;
    } catch (const Stopped&) {
      tuning_.best = search().choice();
      if (!tuning_.proof && tuning_.best != 0) {
        Proof raced = rounds_of(tuning_.runs, Phase::racing, 0, tuning_.best);
        if (raced.ratio.pairs > 0) tuning_.proof = std::move(raced);
      }
    }
    tuning_.seconds = core::tick_clock().now() - start;
    return std::move(tuning_);
  }

 private:
  Search& search() { return *tuning_.search; }

  void resume(const std::vector<TunedRun>& earlier) {
    for (const TunedRun& run : earlier) {
      if (run.proposal.phase != Phase::proof) search().tell(run.proposal, run.outcome);
      tuning_.runs.push_back(run);
    }
    first_ = tuning_.runs.size();
  }

  RunResult run(const Proposal& proposal) {
    if (hooks_.stop_requested()) throw Stopped();
    hooks_.progress(what(proposal), done(), left());
    const RunResult outcome = run_(proposal);
    spent_ += outcome.seconds;
    if (proposal.phase == Phase::proof) proof_seconds_ += outcome.seconds;
    tuning_.runs.push_back({proposal, outcome});
    return outcome;
  }

  void first_run() {
    const RunResult outcome = run({});
    if (!outcome.refused.empty())
      throw core::Error("the command as started does not work: " + outcome.refused);
    search().tell({}, outcome);
  }

  std::span<const TunedRun> fresh_runs() const { return std::span(tuning_.runs).subspan(first_); }

  double runs_done() const { return double(tuning_.runs.size() - first_); }

  // Seconds of one run of the command as started.
  double base_seconds() const {
    std::vector<double> seconds;
    for (const TunedRun& run : tuning_.runs)
      if (run.proposal.candidate == 0 && run.outcome.refused.empty())
        seconds.push_back(run.outcome.seconds);
    return seconds.empty() ? 0 : core::median(seconds);
  }

  // What a budget leaves for the search, and for the part of the proof that is spread over it.
  // run: the price of one.
  static std::pair<double, double> shares(double budget, double run) {
    const double end =
        std::max(kProofRuns * run, std::min(kEndShare * budget, 2 * kMostPairs * run));
    const double early =
        std::clamp(budget - end - kWorthSpreading * run, 0.0, kEarlyShare * budget);
    return {budget - end - early, early};
  }

  void limit_search() {
    const double base = base_seconds();
    require_one_round(budget_, base);
    Budget of_search;
    if (budget_.runs > 0) {
      const auto [searching, early] = shares(budget_.runs, 1);
      of_search.runs = int(search().runs() - runs_done() + searching);
      early_runs_ = early / searching;
    }
    if (budget_.seconds > 0) {
      const auto [searching, early] = shares(budget_.seconds, base);
      of_search.seconds = search().seconds() - spent_ + searching;
      early_seconds_ = early / searching;
    }
    search().set_budget(of_search);
  }

  // As many pairs as the budget holds, decided before the first of them is seen.
  std::size_t affordable_pairs() const {
    double pairs = kMostPairs;
    if (budget_.runs > 0) pairs = std::min(pairs, (budget_.runs - runs_done()) / 2);
    if (budget_.seconds > 0)
      pairs = std::min(pairs, (budget_.seconds - spent_) / (2 * base_seconds()));
    return std::clamp<std::size_t>(std::size_t(std::max(pairs, 0.0)), kFewestPairs, kMostPairs);
  }

  // One pair, in an order drawn anew. Returns false if one failed: it is out of the question.
  bool prove_once(std::size_t winner) {
    ++proof_rounds_;
    const bool winner_first = random_() % 2 == 0;
    for (const bool is_winner : {winner_first, !winner_first}) {
      const Proposal proposal{
          .candidate = is_winner ? winner : 0, .phase = Phase::proof, .round = proof_rounds_};
      const RunResult outcome = run(proposal);
      if (outcome.refused.empty()) continue;
      search().tell(proposal, outcome);
      return false;
    }
    return true;
  }

  // A round of the proof of what the search would choose now. The search does not see it, so that
  // it stays a fair judge of that choice.
  void prove_meanwhile() {
    const double early = 2.0 * proof_rounds_;
    if (early + 2 > early_runs_ * (runs_done() - early) ||
        proof_seconds_ > early_seconds_ * (spent_ - proof_seconds_))
      return;
    const std::size_t choice = search().choice();
    if (choice != 0) prove_once(choice);
  }

  void prove() {
    if (tuning_.best == 0) return;
    Proof& proof = tuning_.proof.emplace(proof_so_far());
    const std::size_t all = affordable_pairs();
    const std::size_t pairs = std::max(kFewestPairs, all - std::min(all, proof.ratio.pairs));
    // What load has met is taken again, as far as the budget goes.
    const auto wants_more = [&] {
      return proof.left_out > 0 && proof.ratio.pairs < all && affords_pair();
    };
    for (std::size_t i = 0; i < pairs || wants_more(); ++i) {
      if (!prove_once(tuning_.best)) {
        proof = {};
        return;
      }
      proof = proof_so_far();
    }
  }

  Proof proof_so_far() const {
    Proof proof = rounds_of(fresh_runs(), Phase::proof, 0, tuning_.best);
    std::vector<double> as_started;
    for (const TunedRun& run : fresh_runs())
      if (run.proposal.candidate == 0 && run.outcome.refused.empty() && !run.outcome.stopped)
        as_started.push_back(run.outcome.value);
    proof.leave_out_load(as_started);
    return proof;
  }

  bool affords_pair() const {
    return (budget_.runs == 0 || runs_done() + 2 <= budget_.runs) &&
           (budget_.seconds == 0 || spent_ + 2 * base_seconds() <= budget_.seconds);
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

  std::string what(const Proposal& proposal) {
    if (tuning_.runs.empty()) return "the command as started";
    const std::size_t best = search().best();
    const double gain = std::exp(search().belief(0).mean - search().belief(best).mean);
    std::string text(to_string(proposal.phase));
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
  // Of the proof for one of the search, during it.
  double early_runs_ = kUnlimited, early_seconds_ = kUnlimited;
  double proof_seconds_ = 0;
  int proof_rounds_ = 0;
  std::mt19937_64 random_{1};
};

}  // namespace

bool Proof::wins() const { return fresh && ratio.pairs >= kFewestPairs && surely_better(ratio); }

void Proof::leave_out_load(std::span<const double> in_order) {
  if (!drifts(in_order)) return;
  std::vector<double> steps;
  for (std::size_t i = 1; i < in_order.size(); ++i)
    steps.push_back(std::abs(std::log(in_order[i] / in_order[i - 1])));
  const double limit =
      *std::ranges::min_element(in_order) * std::exp(kQuietSpread * core::median(steps));
  std::vector<double> quiet(in_order.begin(), in_order.end());
  std::erase_if(quiet, [&](double value) { return value > limit; });
  const double usual = core::median(quiet);
  std::vector<double> quiet_as_started, quiet_winner, at_most_usual;
  for (std::size_t i = 0; i < winner.size(); ++i) {
    at_most_usual.push_back(std::min(as_started[i], usual));
    if (as_started[i] > limit) continue;
    quiet_as_started.push_back(as_started[i]);
    quiet_winner.push_back(winner[i]);
  }
  left_out = winner.size() - quiet_winner.size();
  ratio = quiet_winner.empty() ? core::Ratio()
                               : core::interleaved_ratio(quiet_as_started, quiet_winner);
  if (ratio.pairs >= kFewestPairs || winner.size() < kFewestPairs) return;
  const core::Ratio of_all = core::interleaved_ratio(at_most_usual, winner);
  if (!surely_better(of_all)) return;
  ratio = of_all;
  left_out = 0;
}

void require_one_round(const Budget& budget, double run_seconds) {
  const double least = kProofRuns + kFewestSearchRuns;
  if (budget.runs > 0 && budget.runs < least)
    throw core::UsageError("--runs {}: too few for one round and its proof; use at least {:.0f}",
                           budget.runs, least);
  if (budget.seconds > 0 && budget.seconds < least * run_seconds)
    throw core::UsageError(
        "--budget {}: one run of the command takes {}, and one round with its proof {}; use at "
        "least that, or a smaller problem",
        core::format_seconds(budget.seconds), core::format_seconds(run_seconds),
        core::format_seconds(least * run_seconds));
}

Tuning tune_command(const Space& space, const Budget& budget, const RunCandidate& run,
                    const Hooks& hooks, const std::vector<TunedRun>& earlier) {
  return Tuner(space, budget, run, hooks).tune(earlier);
}

Proof rounds_of(std::span<const TunedRun> runs, Phase phase, std::size_t as_started,
                std::size_t winner) {
  std::map<int, std::pair<double, double>> rounds;
  for (const TunedRun& run : runs) {
    if (run.proposal.phase != phase || !run.outcome.refused.empty() || run.outcome.stopped)
      continue;
    if (run.proposal.candidate == as_started) rounds[run.proposal.round].first = run.outcome.value;
    if (run.proposal.candidate == winner) rounds[run.proposal.round].second = run.outcome.value;
  }
  Proof proof;
  proof.fresh = phase == Phase::proof;
  for (const auto& [round, values] : rounds) {
    if (values.first <= 0 || values.second <= 0) continue;
    proof.as_started.push_back(values.first);
    proof.winner.push_back(values.second);
  }
  if (!proof.winner.empty()) proof.ratio = core::interleaved_ratio(proof.as_started, proof.winner);
  return proof;
}

}  // namespace tabane::lab::tune
