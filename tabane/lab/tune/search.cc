#include "tabane/lab/tune/search.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace tabane::lab::tune {
namespace {

constexpr int kFirstRuns = 2;         // of the command as started
constexpr double kScreenShare = 0.4;  // of the limits, at most
constexpr double kRaceShare = 0.35;   // of the limits, at most
constexpr double kMostRaceRuns = 100;
constexpr int kDoubtEvery = 4;           // looks, of which one
constexpr double kDoubt = 2;             // takes deviations for so much larger
constexpr double kHopeless = 2.0;        // a shape so much slower than the best ends its line
constexpr double kLimit = 4.0;           // no run is awaited that is so much slower than the best
constexpr double kLeastGain = 0.002;     // expected from another run: else looking ends
constexpr double kRivals = 2.0;          // standard deviations of the difference of two racers
constexpr double kUsualNoise = 0.03;     // until runs have shown it
constexpr double kUsualNoiseWeight = 3;  // in runs
constexpr double kOutlier = 3;           // standard deviations, from which a run counts less
constexpr std::size_t kMostRacers = 8, kFewestRounds = 4;
constexpr int kMostRounds = 30;  // who is still level then is as good
constexpr double kUsualContention = 0.03;

double normal_density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }
double normal_share_below(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

// What a run of a candidate is expected to better the least value by.
double expected_gain(double least, const Belief& belief) {
  const double deviation = std::max(belief.deviation(), 1e-9);
  const double u = (least - belief.mean) / deviation;
  return deviation * (u * normal_share_below(u) + normal_density(u));
}

double log_seconds(const std::optional<FittedLaw>& law, double workers) {
  const team::ScalabilityLaw usual{.contention = kUsualContention};
  return -std::log((law ? law->law : usual).speedup(workers));
}

}  // namespace

std::string_view to_string(Phase phase) {
  constexpr std::string_view kNames[] = {"screening", "looking", "racing", "proof"};
  return kNames[static_cast<int>(phase)];
}

Search::Search(const Space& space, const SearchLimits& limits, std::uint64_t seed)
    : space_(space), limits_(limits), random_(seed) {
  const auto& candidates = space.candidates();
  for (std::size_t i = 0; i < candidates.size(); ++i) indices_[candidates[i]] = i;
  runs_of_.resize(candidates.size());
  refused_.resize(candidates.size());
  for (const Dimension& dimension : space.dimensions()) {
    failed_.emplace_back(dimension.levels.size(), 0);
    worked_.emplace_back(dimension.levels.size(), 0);
  }
  plan_lines();
}

std::size_t Search::index_of(const Candidate& candidate) const {
  const auto found = indices_.find(candidate);
  return found == indices_.end() ? space_.candidates().size() : found->second;
}

double Search::spent() const {
  return std::max(double(runs_) / limits_.most_runs, seconds_ / limits_.most_seconds);
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

double Search::noise() const {
  double squares = kUsualNoiseWeight * kUsualNoise * kUsualNoise, weight = kUsualNoiseWeight;
  for (const std::vector<double>& runs : runs_of_) {
    if (runs.size() < 2) continue;
    // Deviations from the median, so that one disturbed run does not make all seem noisy.
    const double middle = core::median(runs);
    for (const double value : runs) squares += std::min(std::pow(value - middle, 2), 0.04);
    weight += double(runs.size() - 1);
  }
  return std::sqrt(squares / weight);
}

// ---- asking ----

std::optional<Trial> Search::next() {
  if (runs_ >= limits_.most_runs || seconds_ >= limits_.most_seconds) return std::nullopt;
  std::optional<Trial> trial;
  if (phase_ == Phase::screening) {
    trial = screen();
    if (!trial) {
      learn();
      phase_ = Phase::looking;
    }
  }
  if (!trial && phase_ == Phase::looking) {
    trial = look();
    if (!trial) {
      learn();
      choose_racers();
      phase_ = Phase::racing;
    }
  }
  if (!trial) trial = race();
  if (trial && trial->phase != Phase::racing && std::isfinite(least_value()))
    trial->limit = kLimit * std::exp(least_value());
  return trial;
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
    std::stable_sort(line->begin(), line->end(), [&](std::size_t a, std::size_t b) {
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
      const std::size_t index = index_of(candidate);
      if (index < runs_of_.size() && !was_run(index)) levels_.push_back(index);
    }
  }
}

std::optional<Trial> Search::screen() {
  if (runs_ < kFirstRuns) return Trial{.candidate = 0};
  if (spent() > kScreenShare) return std::nullopt;
  if (const auto shape = next_shape()) return Trial{.candidate = *shape};
  if (!levels_planned_) plan_levels();
  while (!levels_.empty()) {
    const std::size_t candidate = levels_.front();
    levels_.pop_front();
    if (possible(candidate) && !was_run(candidate)) return Trial{.candidate = candidate};
  }
  return std::nullopt;
}

// The share of the limits that the race is to have.
double Search::race_share() const {
  const double runs = runs_ / std::max(spent(), 1e-9);  // of the limits, at this pace
  return std::min(kRaceShare, kMostRaceRuns / std::max(runs, 1.0));
}

std::optional<Trial> Search::look() {
  if (spent() > 1 - race_share()) return std::nullopt;
  if (observations_.size() >= 2 * learnt_) learn();
  ++looks_;
  // A prior may be too sure of itself: every so often it is not believed.
  const bool doubting = looks_ % kDoubtEvery == 0;
  const double least = belief(best()).mean;
  double most = 0;
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < runs_of_.size(); ++i) {
    if (!possible(i) || (doubting && was_run(i))) continue;
    Belief belief = (*surrogate_)[i];
    if (doubting) belief.variance *= kDoubt * kDoubt;
    const double gain = expected_gain(least, belief);
    if (gain > most) most = gain, chosen = i;
  }
  if (most < kLeastGain) return std::nullopt;
  return Trial{.candidate = chosen, .phase = Phase::looking};
}

void Search::choose_racers() {
  std::vector<std::size_t> order(runs_of_.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](std::size_t i) { return i == 0 || !possible(i); });
  const auto hope = [&](std::size_t i) {
    return (*surrogate_)[i].mean - (*surrogate_)[i].deviation();
  };
  const double left =
      limits_.most_runs < std::numeric_limits<int>::max() ? double(limits_.most_runs - runs_) : 1e9;
  const auto count = std::clamp<std::size_t>(
      static_cast<std::size_t>(left / double(kFewestRounds + 1)), 2, kMostRacers);
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
  const std::size_t leader = *std::min_element(racing_.begin(), racing_.end(), before);
  const Belief at_front = (*surrogate_)[leader];
  std::erase_if(racing_, [&](std::size_t i) {
    const Belief own = (*surrogate_)[i];
    return i != leader &&
           own.mean - at_front.mean > kRivals * std::sqrt(own.variance + at_front.variance);
  });
}

std::optional<Trial> Search::race() {
  while (round_.empty()) {
    drop_racers();
    const bool decided = racing_.size() == 1 && was_run(racing_.front());
    if (racing_.empty() || decided || rounds_ >= kMostRounds) return std::nullopt;
    round_.assign(racing_.begin(), racing_.end());
    round_.push_back(0);
    std::shuffle(round_.begin(), round_.end(), random_);
    ++rounds_;
  }
  const std::size_t candidate = round_.front();
  round_.pop_front();
  if (!possible(candidate)) return race();
  return Trial{.candidate = candidate, .phase = Phase::racing, .round = rounds_};
}

// ---- being told ----

void Search::tell(const Trial& trial, const Outcome& outcome) {
  ++runs_;
  seconds_ += outcome.seconds;
  const std::size_t candidate = trial.candidate;
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
    runs_of_[candidate].push_back(value);
    observe({candidate, value, 1});
  }
  // Once a shape is hopeless, fewer workers are more so.
  if (phase_ == Phase::screening && !levels_planned_ &&
      value > least_value() + std::log(kHopeless)) {
    for (std::deque<std::size_t>& line : lines_)
      std::erase_if(line, [&](std::size_t other) {
        const auto& shape = space_.candidates()[other];
        return space_.threads(shape) <= space_.threads(levels) &&
               space_.processes(shape) <= space_.processes(levels);
      });
  }
}

void Search::observe(const Observation& observation) {
  observations_.push_back(observation);
  if (surrogate_) tell_surrogate(observation);
}

void Search::tell_surrogate(const Observation& observation) {
  const Belief before = (*surrogate_)[observation.candidate];
  double variance = std::pow(noise(), 2) / observation.weight;
  const double surprise = std::abs(observation.value - before.mean);
  const double usual = kOutlier * std::sqrt(variance + before.variance);
  if (surprise > usual) variance *= std::pow(surprise / usual, 2);
  surrogate_->observe(observation.candidate, observation.value, variance);
}

// ---- what follows from it ----

// Median times of shapes of which only the number of these workers differs from the start.
std::vector<TimePoint> Search::points_along(Scale scale) const {
  std::vector<TimePoint> points;
  for (std::size_t i = 0; i < runs_of_.size(); ++i) {
    if (!was_run(i)) continue;
    bool along = true;
    for (std::size_t d = 0; d < space_.dimensions().size(); ++d) {
      const Dimension& dimension = space_.dimensions()[d];
      if (dimension.scale == scale) continue;
      const auto level = static_cast<std::size_t>(space_.candidates()[i][d]);
      along = along && (dimension.counts_workers() ? dimension.amounts[level] == 1 : level == 0);
    }
    if (!along) continue;
    const auto& candidate = space_.candidates()[i];
    points.push_back(
        {scale == Scale::threads ? space_.threads(candidate) : space_.processes(candidate),
         std::exp(core::median(runs_of_[i]))});
  }
  return points;
}

std::vector<double> Search::expected() const {
  std::vector<double> means;
  for (const Candidate& candidate : space_.candidates())
    means.push_back(log_seconds(threads_law_, space_.threads(candidate)) +
                    log_seconds(processes_law_, space_.processes(candidate)));
  // The level of all: as if candidate 0 were known already.
  const double first = runs_of_[0].empty() ? 0 : core::median(runs_of_[0]);
  const double shift = first - means[0];
  for (double& mean : means) mean += shift;
  return means;
}

void Search::believe(const Scales& scales, const std::vector<double>& means) {
  Prior prior;
  prior.workers *= scales.shape;
  prior.shape *= scales.shape;
  prior.choice *= scales.choice;
  prior.total *= scales.shape;
  prior.choice_shape *= scales.choice;
  prior.choice_total *= scales.choice;
  prior.pair *= scales.choice;
  surrogate_.reset();
  kernel_.emplace(space_, prior);
  surrogate_.emplace(space_.candidates(), *kernel_, means);
  for (const Observation& one : observations_) tell_surrogate(one);
}

void Search::learn() {
  threads_law_ = fit_law(points_along(Scale::threads));
  processes_law_ = fit_law(points_along(Scale::processes));
  const std::vector<double> means = expected();
  // How much shapes and words matter differs from command to command: what explains the runs best.
  double most = -std::numeric_limits<double>::infinity();
  Scales chosen;
  for (const double shape : {1.0, 2.0}) {
    for (const double choice : {0.4, 1.0, 2.5}) {
      believe({shape, choice}, means);
      if (surrogate_->log_likelihood() <= most) continue;
      most = surrogate_->log_likelihood();
      chosen = {shape, choice};
    }
  }
  believe(chosen, means);
  learnt_ = observations_.size();
}

double Search::least_value() const {
  double least = std::numeric_limits<double>::infinity();
  for (const std::vector<double>& runs : runs_of_)
    if (!runs.empty()) least = std::min(least, core::median(runs));
  return least;
}

Belief Search::belief(std::size_t candidate) const {
  if (surrogate_) return (*surrogate_)[candidate];
  const std::vector<double>& runs = runs_of_[candidate];
  if (runs.empty()) return {std::numeric_limits<double>::infinity(), 1};
  return {core::median(runs), std::pow(noise(), 2) / double(runs.size())};
}

std::size_t Search::best() const {
  std::size_t best = 0;
  for (std::size_t i = 1; i < runs_of_.size(); ++i) {
    if (!was_run(i) || refused_[i]) continue;
    if (!was_run(best) || belief(i).mean < belief(best).mean) best = i;
  }
  return best;
}

}  // namespace tabane::lab::tune
