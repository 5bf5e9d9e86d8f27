#include "tabane/tools/tune/search.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace tabane::lab::tune {
namespace {

constexpr int kFirstRuns = 2;         // of the command as started
constexpr double kScreenShare = 0.4;  // of the budget, at most
constexpr double kRaceShare = 0.35;   // of the budget, at most
constexpr double kMostRaceRuns = 100;
constexpr int kDoubtEvery = 4;            // looks, of which one
constexpr double kDoubt = 2;              // takes deviations for so much larger
constexpr double kHopeless = 2.0;         // a shape so much slower than the best ends its line
constexpr double kLimit = 4.0;            // no run is awaited that is so much slower than the best
constexpr double kLeastGain = 0.002;      // expected from another run: else looking ends
constexpr double kRivals = 2.0;           // standard deviations of the difference of two racers
constexpr double kPriceOfSimple = 0.015;  // of what is simpler than the best and may be as good
constexpr double kPriceInNoise = 0.3;     // of the noise of a run, where that is more
constexpr double kPriceOfTwice = 0.01;    // what twice as many workers have to bring
constexpr double kLeastOwnShare = 1e-3;   // of what is known of a candidate: not from its run
constexpr std::size_t kMostRacers = 8, kFewestRounds = 4;
constexpr int kMostRounds = 30;  // who is still level then is as good

// What a run of a candidate is expected to better the least value by.
double expected_gain(double least, const Belief& belief) {
  const double deviation = std::max(belief.deviation(), 1e-9);
  const double u = (least - belief.mean) / deviation;
  return deviation * (u * normal_share_below(u) + normal_density(u));
}

// What was believed of a candidate but for its only run.
Belief without(const Belief& belief, double value, double variance) {
  const double precision = 1 / belief.variance - 1 / variance;
  const double least = kLeastOwnShare / belief.variance;
  const Belief others{.mean = 0, .variance = 1 / std::max(precision, least)};
  return {others.variance * (belief.mean / belief.variance - value / variance), others.variance};
}

}  // namespace

std::string_view to_string(Phase phase) {
  constexpr std::string_view kNames[] = {"screening", "looking", "racing", "proof"};
  return kNames[static_cast<int>(phase)];
}

Search::Search(const Space& space, const Budget& budget, std::uint64_t seed)
    : space_(space), random_(seed) {
  set_budget(budget);
  const auto& candidates = space.candidates();
  runs_of_.resize(candidates.size());
  told_variance_.resize(candidates.size());
  refused_.resize(candidates.size());
  for (const Dimension& dimension : space.dimensions()) {
    failed_.emplace_back(dimension.levels.size(), 0);
    worked_.emplace_back(dimension.levels.size(), 0);
  }
  plan_lines();
}

double Search::spent() const { return std::max(runs_ / most_runs_, seconds_ / most_seconds_); }

void Search::set_budget(const Budget& budget) {
  constexpr double kUnlimited = std::numeric_limits<double>::infinity();
  most_runs_ = budget.runs > 0 ? budget.runs : kUnlimited;
  most_seconds_ = budget.seconds > 0 ? budget.seconds : kUnlimited;
}

// A level that has never worked and failed twice is not tried again.
bool Search::possible(std::size_t candidate) const {
  if (refused_[candidate]) return false;
  const Candidate& levels = space_.candidates()[candidate];
  for (std::size_t d = 0; d < levels.size(); ++d) {
    const auto level = static_cast<std::size_t>(levels[d]);
    if (level != 0 && failed_[d][level] >= 2 && worked_[d][level] == 0) return false;
  }
  return true;
}

// ---- asking ----

std::optional<Proposal> Search::next() {
  if (runs_ >= most_runs_ || seconds_ >= most_seconds_) return std::nullopt;
  std::optional<Proposal> proposal;
  if (phase_ == Phase::screening) {
    proposal = screen();
    if (!proposal) {
      learn();
      phase_ = Phase::looking;
    }
  }
  if (!proposal && phase_ == Phase::looking) {
    proposal = look();
    if (!proposal) {
      learn();
      choose_racers();
      phase_ = Phase::racing;
    }
  }
  if (!proposal) proposal = race();
  if (proposal && proposal->phase != Phase::racing && std::isfinite(least_value()))
    proposal->limit = kLimit * std::exp(least_value());
  return proposal;
}

// Shapes along which workers change: threads of the processes as started, processes of the least
// threads, and what uses all PUs; from the most workers down.
void Search::plan_lines() {
  std::vector<std::size_t> threads, processes, full;
  const auto& candidates = space_.candidates();
  double most = 0;
  for (const Candidate& candidate : candidates) most = std::max(most, space_.workers(candidate));
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    bool shape_only = true;
    int thread_level = 0, process_level = 0;
    for (std::size_t d = 0; d < candidates[i].size(); ++d) {
      const Dimension& dimension = space_.dimensions()[d];
      if (dimension.scale == Scale::threads)
        thread_level = candidates[i][d];
      else if (dimension.scale == Scale::processes)
        process_level = candidates[i][d];
      else
        shape_only = shape_only && candidates[i][d] == 0;
    }
    if (!shape_only) continue;
    if (process_level == 0)
      threads.push_back(i);
    else if (space_.threads(candidates[i]) == 1)
      processes.push_back(i);
    else if (space_.workers(candidates[i]) > 0.9 * most && thread_level != 0)
      full.push_back(i);
  }
  for (std::vector<std::size_t>* line : {&threads, &processes, &full}) {
    std::ranges::stable_sort(*line, [&](std::size_t a, std::size_t b) {
      const double more = space_.workers(candidates[a]), less = space_.workers(candidates[b]);
      return more != less ? more > less
                          : space_.threads(candidates[a]) > space_.threads(candidates[b]);
    });
    lines_.emplace_back(line->begin(), line->end());
  }
}

// The first of the lines that still has one; a line ends once it is hopeless.
std::optional<std::size_t> Search::next_shape() {
  for (std::deque<std::size_t>& line : lines_) {
    while (!line.empty()) {
      const std::size_t candidate = line.front();
      line.pop_front();
      if (!line.empty()) line.pop_front();  // every second: the surrogate knows neighbours
      if (possible(candidate) && !was_run(candidate)) return candidate;
    }
  }
  return std::nullopt;
}

// Each level of the other factors, at the best shape so far.
void Search::plan_levels() {
  levels_planned_ = true;
  const Candidate base = space_.candidates()[best()];
  const auto& dimensions = space_.dimensions();
  for (std::size_t d = 0; d < dimensions.size(); ++d) {
    if (dimensions[d].counts_workers()) continue;
    const auto count = static_cast<int>(dimensions[d].levels.size());
    const bool few = dimensions[d].scale == Scale::choice || count <= 4;
    for (int level = 0; level < count; level += few ? 1 : std::max(1, count / 3)) {
      Candidate candidate = base;
      candidate[d] = level;
      const std::size_t index = space_.index_of(candidate);
      if (index < runs_of_.size() && !was_run(index)) levels_.push_back(index);
    }
  }
}

std::optional<Proposal> Search::screen() {
  if (runs_ < kFirstRuns) return Proposal{.candidate = 0};
  if (spent() > kScreenShare) return std::nullopt;
  if (again_) return Proposal{.candidate = *std::exchange(again_, std::nullopt)};
  if (const auto shape = next_shape()) return Proposal{.candidate = *shape};
  if (!levels_planned_) plan_levels();
  while (!levels_.empty()) {
    const std::size_t candidate = levels_.front();
    levels_.pop_front();
    if (possible(candidate) && !was_run(candidate)) return Proposal{.candidate = candidate};
  }
  return std::nullopt;
}

// The share of the budget that the race is to have.
double Search::race_share() const {
  const double runs = runs_ / std::max(spent(), 1e-9);  // of the budget, at this pace
  return std::min(kRaceShare, kMostRaceRuns / std::max(runs, 1.0));
}

std::optional<Proposal> Search::look() {
  if (spent() > 1 - race_share()) return std::nullopt;
  if (observations_.size() >= 2 * learnt_) learn();
  ++looks_;
  // A prior may be too sure of itself: every so often it is not believed.
  const bool doubting = looks_ % kDoubtEvery == 0;
  const double least = belief(best()).mean;
  return most_promising([&](std::size_t i) {
    if (doubting && was_run(i)) return 0.0;
    Belief belief = (*surrogate_)[i];
    if (doubting) belief.variance *= kDoubt * kDoubt;
    return std::max(expected_gain(least, belief), gain_if_disturbed(i, least));
  });
}

std::optional<Proposal> Search::most_promising(
    const std::function<double(std::size_t)>& gain) const {
  double most = kLeastGain;
  std::optional<Proposal> proposal;
  for (std::size_t i = 0; i < runs_of_.size(); ++i) {
    if (!possible(i)) continue;
    const double own = gain(i);
    if (own > most) most = own, proposal = Proposal{.candidate = i, .phase = Phase::looking};
  }
  return proposal;
}

// What another run of a candidate that was run once is expected to gain because that run may have
// been disturbed: then only the others say anything about the candidate.
double Search::gain_if_disturbed(std::size_t candidate, double least) const {
  if (runs_of_[candidate].size() != 1) return 0;
  const double value = runs_of_[candidate].front();
  if (value - least > kWorstDisturbance) return 0;
  const Belief others = without((*surrogate_)[candidate], value, told_variance_[candidate]);
  return noise_.chance_disturbed(others, value) * expected_gain(least, others);
}

void Search::choose_racers() {
  std::vector<std::size_t> order(runs_of_.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](std::size_t i) { return i == 0 || !possible(i); });
  const auto hope = [&](std::size_t i) {
    return (*surrogate_)[i].mean - (*surrogate_)[i].deviation();
  };
  const double affordable = (most_runs_ - runs_) / double(kFewestRounds + 1);
  const auto count = static_cast<std::size_t>(std::clamp(affordable, 2.0, double(kMostRacers)));
  const std::size_t kept = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + std::ptrdiff_t(kept), order.end(),
                    [&](std::size_t a, std::size_t b) { return hope(a) < hope(b); });
  order.resize(kept);
  racing_ = order;
  drop_racers();
}

// Those whose distance to the best is beyond doubt, and those that are refused.
void Search::drop_racers() {
  std::erase_if(racing_, [&](std::size_t i) { return !possible(i); });
  if (racing_.empty()) return;
  const auto before = [&](std::size_t a, std::size_t b) {
    return (*surrogate_)[a].mean < (*surrogate_)[b].mean;
  };
  const std::size_t leader = *std::ranges::min_element(racing_, before);
  const Belief at_front = (*surrogate_)[leader];
  std::erase_if(racing_, [&](std::size_t i) {
    const Belief own = (*surrogate_)[i];
    return i != leader &&
           own.mean - at_front.mean > kRivals * std::sqrt(own.variance + at_front.variance);
  });
}

std::optional<Proposal> Search::race() {
  while (round_.empty()) {
    drop_racers();
    const bool decided = racing_.size() == 1 && was_run(racing_.front());
    if (racing_.empty() || decided || rounds_ >= kMostRounds) return second_look();
    round_.assign(racing_.begin(), racing_.end());
    round_.push_back(0);
    std::shuffle(round_.begin(), round_.end(), random_);
    ++rounds_;
  }
  const std::size_t candidate = round_.front();
  round_.pop_front();
  if (!possible(candidate)) return race();
  return Proposal{.candidate = candidate, .phase = Phase::racing, .round = rounds_};
}

// Before the end: what was run once only and may have been disturbed.
std::optional<Proposal> Search::second_look() const {
  const double least = belief(best()).mean;
  return most_promising([&](std::size_t i) { return gain_if_disturbed(i, least); });
}

// ---- results ----

void Search::tell(const Proposal& proposal, const RunResult& outcome) {
  ++runs_;
  seconds_ += outcome.seconds;
  const std::size_t candidate = proposal.candidate;
  const Candidate& levels = space_.candidates()[candidate];
  const bool failed = !outcome.refused.empty();
  for (std::size_t d = 0; d < levels.size(); ++d)
    ++(failed ? failed_ : worked_)[d][static_cast<std::size_t>(levels[d])];
  if (failed) {
    refused_[candidate] = true;
    return;
  }
  const double value = std::log(outcome.value);
  if (outcome.stopped) {
    // What it would have been is unknown, but it is not worth knowing.
    observe({candidate, value + 0.3, 0.05});
  } else {
    take_in(candidate, value);
  }
  if (phase_ == Phase::racing && proposal.phase == Phase::looking &&
      std::ranges::find(racing_, candidate) == racing_.end())
    racing_.push_back(candidate);  // drops out again if it is what it seemed
  // Once a shape is hopeless, fewer workers are more so.
  const double seen = outcome.stopped ? value : noise_.middle(runs_of_[candidate]);
  if (phase_ == Phase::screening && !levels_planned_ &&
      seen > least_value() + std::log(kHopeless)) {
    if (!outcome.stopped && runs_of_[candidate].size() == 1) {
      again_ = candidate;
      return;
    }
    for (std::deque<std::size_t>& line : lines_)
      std::erase_if(line, [&](std::size_t other) {
        const auto& shape = space_.candidates()[other];
        return space_.threads(shape) <= space_.threads(levels) &&
               space_.processes(shape) <= space_.processes(levels);
      });
  }
}

// Where this run shows that an earlier one of the candidate was disturbed, all is believed anew.
void Search::take_in(std::size_t candidate, double value) {
  std::vector<double>& runs = runs_of_[candidate];
  const double before = runs.empty() ? value : noise_.limit(runs);
  const double highest = runs.empty() ? value : *std::ranges::max_element(runs);
  runs.push_back(value);
  noise_.learn(runs_of_);
  const bool other = (highest > before) != (highest > noise_.limit(runs));
  if (!other || !surrogate_) return observe({candidate, value, 1});
  observations_.push_back({candidate, value, 1});
  believe(scales_, expected());
}

void Search::observe(const Observation& observation) {
  observations_.push_back(observation);
  if (surrogate_) tell_surrogate(observation);
}

// ---- what follows from it ----

double Search::least_value() const {
  double least = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& runs : runs_of_)
    if (!runs.empty()) least = std::min(least, noise_.middle(runs));
  return least;
}

Belief Search::belief(std::size_t candidate) const {
  if (surrogate_) return (*surrogate_)[candidate];
  const std::vector<double>& runs = runs_of_[candidate];
  if (runs.empty()) return {std::numeric_limits<double>::infinity(), 1};
  return {noise_.middle(runs), std::pow(noise(), 2) / double(runs.size())};
}

std::size_t Search::best() const {
  std::size_t best = 0;
  for (std::size_t i = 1; i < runs_of_.size(); ++i) {
    if (!was_run(i) || refused_[i]) continue;
    if (!was_run(best) || belief(i).mean < belief(best).mean) best = i;
  }
  return best;
}

std::size_t Search::choice() const {
  const std::size_t best = this->best();
  if (best == 0) return best;
  const Belief front = belief(best);
  const auto effort = [&](std::size_t i) {
    const Candidate& levels = space_.candidates()[i];
    return std::pair(space_.changes(levels),
                     belief(i).mean + kPriceOfTwice * std::log2(space_.workers(levels)));
  };
  std::size_t chosen = best;
  for (std::size_t i = 1; i < runs_of_.size(); ++i) {
    if (!was_run(i) || !possible(i)) continue;
    const Belief own = belief(i);
    const double told_apart = kRivals * std::sqrt(own.variance + front.variance);
    if (own.mean - front.mean >
        std::min(told_apart, std::max(kPriceOfSimple, kPriceInNoise * noise())))
      continue;
    if (effort(i) < effort(chosen)) chosen = i;
  }
  return chosen;
}

}  // namespace tabane::lab::tune
