// A tuning: a budget spent on a search and on the proof of what it found.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tabane/core/statistics.h"
#include "tabane/lab/campaign/campaign.h"
#include "tabane/tools/tune/search.h"

namespace tabane::lab::tune {

// One run of a candidate, as it happened.
struct TunedRun {
  Proposal proposal;
  RunResult outcome;
};

// Runs a candidate for a tuning. throws: Stopped.
using RunCandidate = std::function<RunResult(const Proposal& proposal)>;

// The winner and the command as started, measured afresh, in turn: now and then during the
// search, and after it.
struct Proof {
  std::vector<double> as_started, winner;  // values, in turn
  core::Ratio ratio;                       // how many times better the winner is
  bool fresh = true;                       // false: stopped before; these are of the race
  std::size_t left_out = 0;                // rounds that are not in the ratio

  // Leaves out what other load may have made. in_order: values of the command as started from all
  // over the tuning, as they were taken. If they disagree beyond chance, only those rounds count in
  // which it was as fast as in its quiet times: load makes a command slower, so a gain that is only
  // there under load begins with a slow run as started. Where too few are left, all may count, but
  // the command as started as if it had never been slower than usual in its quiet times: what is
  // better even so is better.
  void leave_out_load(std::span<const double> in_order);
  // Whether the winner may be named: the whole interval says that it is better.
  bool wins() const;
};

struct Tuning {
  std::vector<TunedRun> runs;  // in order, also those of the tuning that was resumed
  std::size_t best = 0;        // the choice of the search; what was believed, not proved
  std::optional<Proof> proof;
  bool complete = false;
  double seconds = 0;
  std::unique_ptr<Search> search;

  // The candidate to use: `best` if that is proved, else 0.
  std::size_t chosen() const { return proof && proof->wins() ? best : 0; }
};

inline constexpr std::size_t kFewestPairs = 6;  // of the proof: for its interval

// throws: core::UsageError if the budget is below the price of one round and its proof, and says
// what that is. run_seconds: of the command as started; 0: not known yet.
void require_one_round(const Budget& budget, double run_seconds);

// Tunes until the budget is spent, nothing promises more, or the user stops it.
// earlier: runs of a tuning over the same space, which this one continues.
// throws: core::UsageError if the budget is below the price of one round, and says what that is;
// core::Error if the command as started does not work.
Tuning tune_command(const Space& space, const Budget& budget, const RunCandidate& run,
                    const Hooks& hooks = {}, const std::vector<TunedRun>& earlier = {});

// Values of two candidates in those rounds of a phase, of the race or the proof, in which both ran
// to the end.
Proof rounds_of(std::span<const TunedRun> runs, Phase phase, std::size_t as_started,
                std::size_t winner);

}  // namespace tabane::lab::tune
