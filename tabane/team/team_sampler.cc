#include "tabane/team/team_sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tabane/core/statistics.h"

namespace tabane::team {
namespace {

constexpr double kFewestTasks = 24;        // worth of time that a sample may always take
constexpr double kAlwaysSeconds = 0.005;   // however little the work
constexpr std::size_t kMostTasks = 65536;  // in one run, for each worker at most 1024
constexpr std::size_t kFewestBaseTasks = 4;
constexpr int kRepeats = 3;
constexpr double kLongRun = 0.01, kShortRun = 200e-6;  // seconds for each worker
// From here on the time until all are done is taken, which holds what handing out tasks costs; with
// fewer tasks the last ones would hide the rate, and the time inside the tasks is taken.
constexpr std::size_t kManyRounds = 32;
constexpr double kEven = 0.15;
constexpr double kLeastCompared = 1e-6;  // seconds of a task, against those of handing it out
constexpr std::size_t kFewestCompared = 32;
constexpr double kSurprise = 1.3;   // times what was expected
constexpr double kDisturbed = 1.2;  // of two runs, times the other
constexpr double kUnknownNoise = 0.05;
constexpr std::size_t kMostSizes = 4096;

double sum_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Of runs that something else may have disturbed, which only makes them longer.
double typical(const std::vector<double>& values) {
  if (values.size() == 2) {
    const auto [low, high] = std::minmax(values[0], values[1]);
    if (high > kDisturbed * low) return low;
  }
  return core::median(values);
}

// Relative distances from the median but one, which is 0 or a pair's second.
void add_deviations(const std::vector<double>& values, std::vector<double>& deviations) {
  if (values.size() < 2) return;
  const double middle = core::median(values);
  std::vector<double> these;
  for (const double value : values) these.push_back(std::abs(value / middle - 1));
  std::sort(these.begin(), these.end());
  const double lost = values.size() == 2 ? std::sqrt(2.0) : 1;
  for (std::size_t i = 1; i < these.size(); ++i) deviations.push_back(these[i] * lost);
}

}  // namespace

double Sampler::budget() const {
  const double whole = task_seconds_ * static_cast<double>(n_);
  const double share = std::max(limits_.most_sample_share * whole, kFewestTasks * task_seconds_);
  return std::min(limits_.most_sample_seconds, std::max(share, kAlwaysSeconds));
}

std::size_t Sampler::count_for(Shape shape, double slowdown) const {
  const double target = std::clamp(budget() / 60, kShortRun, kLongRun);
  const double rounds = std::ceil(target / (task_seconds_ * slowdown));
  const auto workers = static_cast<std::size_t>(shape.workers());
  const auto each = static_cast<std::size_t>(std::clamp(rounds, 1.0, 1024.0));
  return std::min({n_, workers * each, std::max(kMostTasks, workers)});
}

void Sampler::measure_base() {
  const auto run = [&](std::size_t count) {
    const Trial trial = experiment_.run({}, count);
    spent_ += trial.seconds;
    return trial;
  };
  task_seconds_ = run(1).seconds;
  std::size_t count = std::max(count_for({}, 1), std::min(n_, kFewestBaseTasks));
  // Several tasks tell how their times vary, where the budget lets them.
  const double some = std::floor(0.15 * budget() / task_seconds_ / kRepeats);
  if (some > static_cast<double>(count)) {
    count = std::min({n_, static_cast<std::size_t>(some), std::max<std::size_t>(count, 16)});
  }
  std::vector<Trial> trials{run(count)};
  while (trials.size() < kRepeats && trials.front().seconds < 0.05 * budget()) {
    trials.push_back(run(count));
  }
  for (const Trial& trial : trials) base_runs_.push_back(trial.seconds / double(count));
  task_seconds_ = typical(base_runs_);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<double> times;
    for (const Trial& trial : trials) times.push_back(trial.task_seconds[i]);
    base_.push_back(core::median(times));
  }
  base_error_ = std::max(0.01, noise()) / std::sqrt(double(trials.size()));
  for (const Trial& trial : trials) learn_sizes(trial, sum_of(trial.task_seconds) / sum_of(base_));
  settle_sizes();
}

double Sampler::noise() const {
  std::vector<double> deviations;
  add_deviations(base_runs_, deviations);
  for (const Point& point : points_) add_deviations(point.slowdowns, deviations);
  // Half of a normal distribution is within 0.67 standard deviations; of few runs the median is
  // near them all.
  return deviations.empty() ? kUnknownNoise : core::median(deviations) / 0.7;
}

double Sampler::slowdown_of(const Trial& trial, Shape shape, bool* one_round) {
  const std::size_t count = trial.task_seconds.size();
  const auto workers = static_cast<std::size_t>(shape.workers());
  *one_round = count <= workers;
  const bool even = variation_ < kEven;
  const bool compared = !even && task_seconds_ > kLeastCompared && sizes_.size() >= kFewestCompared;
  if (count >= workers * kManyRounds && !compared) {
    return trial.seconds * double(workers) / double(count) / task_seconds_;
  }
  // Tasks whose size earlier runs have told are compared with it; the others with the mean, unless
  // sizes vary so much that leaving them out is better.
  double took = 0, alone = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool known = i < sizes_.size();
    if (!known && !even) break;
    took += trial.task_seconds[i];
    alone += known ? core::median(sizes_[i]) : task_seconds_;
  }
  return took / alone;
}

bool Sampler::measure(Shape shape, double expected_slowdown, double start, bool alike) {
  const std::size_t count = count_for(shape, expected_slowdown);
  const double expected =
      start + expected_slowdown * task_seconds_ * std::ceil(double(count) / shape.workers());
  if (expected > left()) return false;
  const bool again = measured(shape);
  if (!again) points_.push_back({.shape = shape, .slowdowns = {}, .one_round = true});
  Point& point = *std::find_if(points_.begin(), points_.end(),
                               [&](const Point& one) { return one.shape == shape; });
  for (int i = 0; i < (again ? 1 : kRepeats); ++i) {
    const Trial trial = experiment_.run(shape, count);
    const double took = trial.seconds + start;
    spent_ += took;
    point.slowdowns.push_back(slowdown_of(trial, shape, &point.one_round));
    if (alike) learn_sizes(trial, point.slowdowns.back());
    const bool surprise = i == 0 && point.slowdowns.back() > kSurprise * expected_slowdown;
    if (took > (surprise ? left() : 0.02 * budget())) break;
  }
  settle_sizes();
  return true;
}

void Sampler::learn_sizes(const Trial& trial, double slowdown) {
  const std::size_t count = std::min(trial.task_seconds.size(), kMostSizes);
  if (sizes_.size() < count) sizes_.resize(count);
  for (std::size_t i = 0; i < count; ++i) sizes_[i].push_back(trial.task_seconds[i] / slowdown);
}

void Sampler::settle_sizes() {
  std::vector<double> sizes;
  for (const std::vector<double>& times : sizes_) sizes.push_back(core::median(times));
  if (sizes.empty()) return;
  task_seconds_ = base_.size() >= sizes.size() ? typical(base_runs_) : core::mean(sizes);
  variation_ = sizes.size() > 1 ? core::standard_deviation(sizes) / core::mean(sizes) : 0;
  const double few = variation_ / std::sqrt(double(sizes.size()));
  task_error_ = std::hypot(few * std::sqrt(std::max(0.0, 1 - double(sizes.size()) / double(n_))),
                           base_error_);
}

double Sampler::start_seconds(Shape shape) {
  std::vector<double> times;
  for (int i = 0; i < kRepeats; ++i) {
    times.push_back(experiment_.start_seconds(shape));
    spent_ += std::min(times.back(), Experiment::kLongStart);
    if (times.back() > 0.02 * budget()) break;
  }
  return typical(times);
}

std::vector<SlowdownPoint> Sampler::points() const {
  std::vector<SlowdownPoint> all;
  // The laws themselves are not truer than that.
  const double error = std::max(0.015, noise());
  for (const Point& point : points_) {
    all.push_back({.shape = point.shape,
                   .slowdown = typical(point.slowdowns),
                   .one_round = point.one_round,
                   .error = error / std::sqrt(double(point.slowdowns.size()))});
  }
  return all;
}

const Sampler::Point* Sampler::find(Shape shape) const {
  const auto found = std::find_if(points_.begin(), points_.end(),
                                  [&](const Point& point) { return point.shape == shape; });
  return found == points_.end() ? nullptr : &*found;
}

double Sampler::slowdown(Shape shape) const { return typical(find(shape)->slowdowns); }

}  // namespace tabane::team
