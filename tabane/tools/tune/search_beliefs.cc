#include "tabane/tools/tune/search_beliefs.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tabane/core/statistics.h"
#include "tabane/tools/tune/search.h"

namespace tabane::lab::tune {
namespace {

// Two levels of equal amount need not behave alike: one is the command as started.
constexpr double kAlike = 0.9;

double squared(double x) { return x * x; }

// Matérn's with 3/2, which lets slopes change but not jump.
double matern(double distance) {
  const double x = std::sqrt(3.0) * distance;
  return (1 + x) * std::exp(-x);
}

std::vector<double> correlations(const Dimension& dimension, double octaves) {
  const std::size_t n = dimension.levels.size();
  std::vector<double> table(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double& value = table[i * n + j];
      if (i == j) {
        value = 1;
      } else if (dimension.scale != Scale::choice) {
        const double apart = std::log2(dimension.amounts[i] / dimension.amounts[j]);
        value = (i == 0 || j == 0 ? kAlike : 1) * matern(std::abs(apart) / octaves);
      }
    }
  }
  return table;
}

}  // namespace

double normal_density(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }
double normal_share_below(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

double Belief::deviation() const { return std::sqrt(std::max(0.0, variance)); }

Covariance::Covariance(const Space& space, const Prior& prior) : prior_(prior) {
  for (const Dimension& dimension : space.dimensions()) {
    scales_.push_back(dimension.scale);
    sizes_.push_back(dimension.levels.size());
    tables_.push_back(correlations(dimension, prior.octaves));
    std::vector<double>& logs = logs_.emplace_back();
    if (!dimension.counts_workers()) continue;
    for (const double amount : dimension.amounts) logs.push_back(std::log2(amount));
  }
}

double Covariance::log_workers(const Candidate& candidate) const {
  double sum = 0;
  for (std::size_t d = 0; d < logs_.size(); ++d)
    if (!logs_[d].empty()) sum += logs_[d][static_cast<std::size_t>(candidate[d])];
  return sum;
}

double Covariance::operator()(const Candidate& a, const Candidate& b) const {
  double sum = squared(prior_.offset), shape = 1, words = 0, words_in_shape = 0, pairs = 0;
  for (std::size_t d = 0; d < scales_.size(); ++d) {
    const double r = correlation(d, a[d], b[d]);
    if (scales_[d] == Scale::processes || scales_[d] == Scale::threads) {
      sum += squared(prior_.workers) * r;
      shape *= r;
    } else {
      const bool word = scales_[d] == Scale::choice;
      sum += squared(word ? prior_.choice : prior_.amount) * r;
      pairs += words * r;  // over all earlier ones
      words += r;
      words_in_shape += r;
    }
  }
  const double total = matern(std::abs(log_workers(a) - log_workers(b)) / prior_.total_octaves);
  sum += total * (squared(prior_.total) + squared(prior_.choice_total) * words_in_shape);
  sum += squared(prior_.shape) * shape + squared(prior_.choice_shape) * shape * words_in_shape +
         squared(prior_.pair) * pairs;
  return a == b ? sum + squared(prior_.own) : sum;
}

Surrogate::Surrogate(const std::vector<Candidate>& candidates, const Covariance& covariance,
                     std::vector<double> means)
    : candidates_(candidates), covariance_(covariance) {
  for (std::size_t i = 0; i < candidates.size(); ++i)
    beliefs_.push_back({means[i], covariance(candidates[i], candidates[i])});
}

void Surrogate::observe(std::size_t candidate, double value, double variance) {
  const std::size_t n = candidates_.size();
  std::vector<float> covariance(n);
  for (std::size_t i = 0; i < n; ++i)
    covariance[i] = static_cast<float>(covariance_(candidates_[candidate], candidates_[i]));
  for (const std::vector<float>& row : rows_) {
    const float at = row[candidate];
    for (std::size_t i = 0; i < n; ++i) covariance[i] -= at * row[i];
  }
  const double total = std::max<double>(covariance[candidate], 0) + variance;
  const double surprise = value - beliefs_[candidate].mean;
  log_likelihood_ -= 0.5 * (std::log(total) + squared(surprise) / total);
  const auto scale = static_cast<float>(1 / std::sqrt(total));
  for (std::size_t i = 0; i < n; ++i) {
    beliefs_[i].mean += covariance[i] * surprise / total;
    beliefs_[i].variance -= squared(covariance[i]) / total;
    covariance[i] *= scale;
  }
  rows_.push_back(std::move(covariance));
}

namespace {

constexpr double kUsualWeight = 3;            // in runs
constexpr double kUsuallyDisturbedRuns = 20;  // as if so many had shown what is usual
constexpr double kLeastDisturbance = 0.2;     // of a logarithm
constexpr double kOutlier = 4;                // deviations of a difference of two
constexpr int kPasses = 3;                    // from the usual deviation to that of these runs

constexpr double kBeyondChance = 1.645;     // normal deviations: once in 20
constexpr std::size_t kFewestForDrift = 8;  // for its distribution to be normal

}  // namespace

const double kWorstDisturbance = std::log(4);

double Noise::limit(std::span<const double> runs) const {
  std::vector<double> sorted(runs.begin(), runs.end());
  std::ranges::sort(sorted);
  const double typical = sorted[sorted.size() == 2 ? 0 : sorted.size() / 2];
  return typical + std::max(kLeastDisturbance, kOutlier * std::numbers::sqrt2 * deviation_);
}

double Noise::middle(std::span<const double> runs) const {
  std::vector<double> kept;
  const double most = limit(runs);
  std::ranges::copy_if(runs, std::back_inserter(kept), [&](double value) { return value <= most; });
  return core::median(kept);
}

void Noise::learn(const std::vector<std::vector<double>>& runs_of) {
  deviation_ = kUsual;
  for (int pass = 0; pass < kPasses; ++pass) {
    double squares = kUsualWeight * squared(kUsual), weight = kUsualWeight;
    double disturbed = kUsuallyDisturbed * kUsuallyDisturbedRuns, repeated = kUsuallyDisturbedRuns;
    for (const std::vector<double>& runs : runs_of) {
      if (runs.size() < 2) continue;
      const double most = limit(runs), center = middle(runs);
      double kept = 0;
      for (const double value : runs) {
        if (value > most) continue;
        squares += squared(value - center);
        ++kept;
      }
      weight += kept - 1;
      disturbed += double(runs.size()) - kept;
      repeated += double(runs.size()) - 1;
    }
    deviation_ = std::sqrt(squares / weight);
    disturbed_share_ = disturbed / repeated;
  }
}

bool drifts(std::span<const double> in_order) {
  const std::size_t count = in_order.size();
  if (count < kFewestForDrift) return false;
  std::vector<double> sorted(in_order.begin(), in_order.end());
  std::ranges::sort(sorted);
  double before = 0, steps = 0, squares = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), in_order[i]);
    // From the middle one; that of equal values is their mean.
    const double rank = double((first - sorted.begin()) + (last - sorted.end())) / 2;
    if (i > 0) steps += squared(rank - before);
    squares += squared(rank);
    before = rank;
  }
  const double n = double(count);
  const double variance =
      4 * (n - 2) * (5 * squared(n) - 2 * n - 9) / (5 * n * (n + 1) * squared(n - 1));
  return steps < (2 - kBeyondChance * std::sqrt(variance)) * squares;
}

double Noise::chance_disturbed(const Belief& expected, double value) const {
  const double deviation = std::sqrt(std::max(0.0, expected.variance) + squared(deviation_));
  const double above = value - expected.mean;
  // A disturbance may be anything up to the worst.
  const double disturbed = disturbed_share_ / kWorstDisturbance *
                           (normal_share_below(above / deviation) -
                            normal_share_below((above - kWorstDisturbance) / deviation));
  const double clean = (1 - disturbed_share_) * normal_density(above / deviation) / deviation;
  return disturbed / std::max(disturbed + clean, 1e-300);
}

namespace {

constexpr double kSurprising = 3;  // standard deviations, from which a run counts less
constexpr double kUsualContention = 0.03;

double log_seconds(const std::optional<core::ScalabilityFit>& law, double workers) {
  const core::ScalabilityLaw usual{.contention = kUsualContention};
  return -std::log((law ? law->law : usual).speedup(workers));
}

}  // namespace

void Search::tell_surrogate(const Observation& observation) {
  const std::vector<double>& runs = runs_of_[observation.candidate];
  if (runs.size() > 1 && observation.value > noise_.limit(runs)) return;  // it was disturbed
  const Belief before = (*surrogate_)[observation.candidate];
  double variance = std::pow(noise(), 2) / observation.weight;
  const double surprise = std::abs(observation.value - before.mean);
  const double usual = kSurprising * std::sqrt(variance + before.variance);
  if (surprise > usual) variance *= std::pow(surprise / usual, 2);
  told_variance_[observation.candidate] = variance;
  surrogate_->observe(observation.candidate, observation.value, variance);
}

// Median times of shapes of which only the number of these workers differs from the start.
std::vector<core::TimePoint> Search::points_along(Scale scale) const {
  std::vector<core::TimePoint> points;
  for (std::size_t i = 0; i < runs_of_.size(); ++i) {
    const Candidate& candidate = space_.candidates()[i];
    if (was_run(i) && space_.differs_only_in(scale, candidate))
      points.push_back({space_.amount(scale, candidate), std::exp(noise_.middle(runs_of_[i]))});
  }
  return points;
}

std::vector<double> Search::expected() const {
  std::vector<double> means;
  for (const Candidate& candidate : space_.candidates())
    means.push_back(log_seconds(threads_law_, space_.threads(candidate)) +
                    log_seconds(processes_law_, space_.processes(candidate)));
  // The level of all: as if candidate 0 were known already.
  const double first = runs_of_[0].empty() ? 0 : noise_.middle(runs_of_[0]);
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
  covariance_.emplace(space_, prior);
  surrogate_.emplace(space_.candidates(), *covariance_, means);
  for (const Observation& one : observations_) tell_surrogate(one);
}

void Search::learn() {
  threads_law_ = core::fit_scalability_and_time(points_along(Scale::threads));
  processes_law_ = core::fit_scalability_and_time(points_along(Scale::processes));
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
  scales_ = chosen;
  learnt_ = observations_.size();
}

}  // namespace tabane::lab::tune
