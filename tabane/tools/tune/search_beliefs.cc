// What a search believes: the laws, the prior, and the surrogate over them.
#include <cmath>

#include "tabane/tools/tune/search.h"

namespace tabane::lab::tune {
namespace {

constexpr double kSurprising = 3;  // standard deviations, from which a run counts less
constexpr double kUsualContention = 0.03;

double log_seconds(const std::optional<FittedLaw>& law, double workers) {
  const team::ScalabilityLaw usual{.contention = kUsualContention};
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
         std::exp(noise_.middle(runs_of_[i]))});
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
  scales_ = chosen;
  learnt_ = observations_.size();
}

}  // namespace tabane::lab::tune
