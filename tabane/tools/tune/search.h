// Which candidate to run next: the search proposes one and learns its result, but runs nothing.
//
// 1. Screening: the command as started, fewer and fewer workers until it only gets slower, then
//    the levels of the other factors one at a time. Laws are fitted to what the workers did.
// 2. Looking: what the laws and a surrogate expect to gain most is run, one candidate at a time;
//    also again, because a bad first run may have been disturbed.
// 3. Racing: the best few in rounds, in an order drawn anew, with the command as started; those
//    that are surely slower than the best drop out.
// The reasons are in tabane/tools/tune/README.md.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tabane/core/fit.h"
#include "tabane/core/statistics.h"
#include "tabane/tools/tune/search_beliefs.h"
#include "tabane/tools/tune/space.h"

namespace tabane::lab::tune {

// Whether a contender measured in turn is better than an incumbent by more than this factor, with
// the whole interval of their ratio (incumbent / contender of what is to be little).
inline bool surely_better(const core::Ratio& gain, double factor = 1) {
  return gain.interval.low > factor;
}

enum class Phase { screening, looking, racing, proof };
std::string_view to_string(Phase phase);

// What one run gave.
struct RunResult {
  double value = 0;                    // what is made best: > 0, less is better
  double seconds = 0;                  // that the run took
  bool stopped = false;                // at its limit: value is too low
  std::string refused{};               // why the candidate is out of the question; empty: it is not
  std::optional<double> others_pus{};  // busy with other programs meanwhile; null: not known
};

struct Proposal {
  std::size_t candidate = 0;  // index
  Phase phase = Phase::screening;
  int round = 0;  // of the race
  // Worse values need not be waited for.
  double limit = std::numeric_limits<double>::infinity();
};

// Of a search, or of a whole tuning.
struct Budget {
  int runs = 0;        // 0: as the time allows
  double seconds = 0;  // 0: as the runs allow
};

class Search {
 public:
  Search(const Space& space, const Budget& budget, std::uint64_t seed = 1);
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  // Null: nothing is worth another run, or the budget is spent.
  std::optional<Proposal> next();
  void tell(const Proposal& proposal, const RunResult& outcome);
  void set_budget(const Budget& budget);

  // The candidate that is believed to be best among those that were run; 0 if none was.
  std::size_t best() const;
  // The simplest of those that are not told apart from the best and little behind it: the fewest
  // changes to the command as started, then the fewest processes and threads. Candidate 0
  // only if it is the best itself: whether there is a gain is for a proof to say.
  std::size_t choice() const;
  Belief belief(std::size_t candidate) const;
  bool was_run(std::size_t candidate) const { return !runs_of_[candidate].empty(); }
  bool is_refused(std::size_t candidate) const { return refused_[candidate]; }
  // Whether it is neither refused nor has a level with which all that was run was refused.
  bool possible(std::size_t candidate) const;
  // Logarithms of the values of a candidate's complete runs, in order.
  const std::vector<double>& values_of(std::size_t candidate) const { return runs_of_[candidate]; }
  const std::vector<std::size_t>& racing() const { return racing_; }
  const std::optional<core::ScalabilityFit>& threads_law() const { return threads_law_; }
  const std::optional<core::ScalabilityFit>& processes_law() const { return processes_law_; }
  // Relative standard deviation of equal runs.
  double noise() const { return noise_.deviation(); }
  double spent() const;  // share of the budget
  int runs() const { return runs_; }
  double seconds() const { return seconds_; }

 private:
  struct Observation {
    std::size_t candidate;
    double value, weight;  // a logarithm; the noise's variance is multiplied with 1 / weight
  };

  std::optional<Proposal> screen();
  std::optional<Proposal> look();
  std::optional<Proposal> race();
  std::optional<Proposal> second_look() const;
  std::optional<Proposal> most_promising(const std::function<double(std::size_t)>& gain) const;
  std::optional<std::size_t> next_shape();
  void plan_lines();
  void plan_levels();
  void choose_racers();
  void drop_racers();
  void learn();  // fits laws, chooses the prior, and tells the surrogate everything again
  double gain_if_disturbed(std::size_t candidate, double least) const;
  double race_share() const;
  std::vector<double> expected() const;
  std::vector<core::TimePoint> points_along(Scale scale) const;
  struct Scales {
    double shape = 1, choice = 1;  // factors of the prior's deviations
  };
  void believe(const Scales& scales, const std::vector<double>& means);
  void observe(const Observation& observation);
  void take_in(std::size_t candidate, double value);
  void tell_surrogate(const Observation& observation);
  double least_value() const;  // a logarithm

  const Space& space_;
  double most_runs_ = 0, most_seconds_ = 0;
  std::mt19937_64 random_;
  Phase phase_ = Phase::screening;
  int runs_ = 0;
  double seconds_ = 0;

  std::vector<Observation> observations_;
  std::vector<std::vector<double>> runs_of_;
  std::vector<bool> refused_;
  std::vector<std::vector<int>> failed_, worked_;  // runs of each level
  std::optional<core::ScalabilityFit> threads_law_, processes_law_;
  std::optional<Covariance> covariance_;
  std::optional<Surrogate> surrogate_;
  Scales scales_;           // of the prior
  std::size_t learnt_ = 0;  // observations at the last learn()
  Noise noise_;
  std::vector<double> told_variance_;  // of the last run of each candidate, as the surrogate has it

  std::vector<std::deque<std::size_t>> lines_;  // of shapes, each to be walked until it gets slow
  std::deque<std::size_t> levels_;
  std::optional<std::size_t> again_;  // the shape that seems hopeless, to be run again
  bool levels_planned_ = false;
  std::vector<std::size_t> racing_;
  std::deque<std::size_t> round_;
  int rounds_ = 0, looks_ = 0;
};

}  // namespace tabane::lab::tune
