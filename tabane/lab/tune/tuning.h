// A tuning: a budget spent on a search and on the proof of what it found.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tabane/core/statistics.h"
#include "tabane/lab/campaign/progress.h"
#include "tabane/lab/tune/search.h"

namespace tabane::lab::tune {

// One run of a candidate, as it happened.
struct Run {
  Trial trial;
  Outcome outcome;
};

struct Budget {
  int runs = 0;        // 0: as the time allows
  double seconds = 0;  // 0: as the runs allow
};

// What stands between a tuning and its command. throws: Stopped.
using RunCandidate = std::function<Outcome(const Trial& trial)>;

// The winner beside the command as started, measured afresh, in turn.
struct Proof {
  std::vector<double> as_started, winner;  // values, in turn
  core::Ratio ratio;                       // how many times better the winner is
  bool fresh = true;                       // false: stopped before; these are of the race

  // Whether the winner may be named: the whole interval says that it is better.
  bool wins() const;
};

struct Tuning {
  std::vector<Run> runs;  // in order, also those of the tuning that was resumed
  std::size_t best = 0;   // the choice of the search; what was believed, not proved
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
// earlier: runs of a tuning over the same space, which this one goes on with.
// throws: core::UsageError if the budget is below the price of one round, and says what that is;
// core::Error if the command as started does not work.
Tuning tune_command(const Space& space, const Budget& budget, const RunCandidate& run,
                    const Hooks& hooks = {}, const std::vector<Run>& earlier = {});

// Values of two candidates in those rounds of the race in which both ran to the end.
Proof in_race(const std::vector<Run>& runs, std::size_t as_started, std::size_t winner);

}  // namespace tabane::lab::tune
