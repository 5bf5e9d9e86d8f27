#include "tabane/team/team_sampler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tabane/core/statistics.h"

namespace tabane::team {
namespace {

// Worth of time that a sample may take of little work, while it can save five times as much.
constexpr double kFewestTasks = 24;
constexpr double kFewestSeconds = 0.005;
constexpr double kMostOfSaving = 0.2;
constexpr double kFewestRuns = 6;  // threads, processes, what starting each costs, one alone
constexpr std::size_t kMostTasks = 65536;  // in one run, for each worker at most 1024
constexpr std::size_t kFewestBaseTasks = 4;
constexpr std::size_t kFewestBegunTasks = 2;  // of work that has shown already what a task takes
constexpr double kSampleWaiting = 0.5;        // of the time of a task, on a PU
constexpr double kRunsInBudget = 60;
constexpr double kLongRun = 0.01, kShortRun = 200e-6;  // seconds for each worker
// With so many tasks per worker the time until all are done is taken, which holds what handing out
// tasks costs; with fewer the last ones would hide the rate, and the time inside the tasks is
// taken.
constexpr std::size_t kManyRounds = 32;
constexpr double kEven = 0.15;
constexpr std::size_t kRepeats = 3;
constexpr double kCheap = 0.04;        // of the budget
constexpr double kSampleNoise = 0.05;  // of the runs on one worker
constexpr std::size_t kMostSizes = 4096;

}  // namespace

Sampler::Sampler(Experiment& experiment, std::size_t n, const Limits& limits)
    : experiment_(experiment), n_(n), limits_(limits), begun_(experiment.begun()) {
  if (begun_ != nullptr) task_seconds_ = begun_->seconds_each * begun_->workers;
}

double Sampler::budget() const {
  if (begun_ != nullptr) {
    return most_sample_seconds(*begun_, n_, limits_);
  }
  const double whole = task_seconds_ * static_cast<double>(n_);
  const double teaching = std::max(kFewestTasks * task_seconds_, kFewestSeconds);
  const double share =
      std::max(limits_.most_sample_share * whole, std::min(teaching, kMostOfSaving * saving_));
  return std::min(limits_.most_sample_seconds, share);
}

std::size_t Sampler::count_for(Shape shape, double slowdown) const {
  const double target = std::clamp(budget() / kRunsInBudget, kShortRun, kLongRun);
  const double rounds = std::ceil(target / (task_seconds_ * slowdown));
  const auto workers = static_cast<std::size_t>(shape.workers());
  const auto each = static_cast<std::size_t>(std::clamp(rounds, 1.0, 1024.0));
  return std::min({most_tasks(), workers * each, std::max(kMostTasks, workers)});
}

// Of one run. Where its tasks are done with it, some must be left for the others.
std::size_t Sampler::most_tasks() const {
  return experiment_.keeps_results() ? std::max<std::size_t>(1, left() / 4) : n_;
}

// What a run takes from the work: of work that continues with other shapes, what its tasks would
// not have taken with the shape in which it was begun.
double Sampler::cost_of(double seconds, std::size_t count) const {
  if (begun_ == nullptr) return seconds;
  return std::max(0.0, seconds - begun_->seconds_each * double(count));
}

// Up to three runs while they are cheap, of which the middle one counts, and of two the shorter:
// what disturbs a run makes it longer.
SampleRun Sampler::run(Shape shape, std::size_t count) {
  std::vector<SampleRun> trials;
  do {
    ++runs_;
    disturbed_ += experiment_.disturbed() ? 1 : 0;
    trials.push_back(experiment_.run(shape, count));
    spent_ += cost_of(trials.back().total_seconds, count);
    if (experiment_.keeps_results()) done_ += count;
  } while (trials.size() < kRepeats && count <= std::min(left(), most_tasks()) &&
           cost_of(trials.back().total_seconds, count) < kCheap * budget());
  const auto middle = trials.begin() + std::ptrdiff_t(trials.size() - 1) / 2;
  std::nth_element(trials.begin(), middle, trials.end(),
                   [](const SampleRun& a, const SampleRun& b) { return a.seconds < b.seconds; });
  for (auto other = trials.begin(); other != trials.end(); ++other) {
    if (other != middle) differences_.push_back(std::log(other->seconds / middle->seconds));
  }
  return std::move(*middle);
}

bool Sampler::pays(int workers) {
  const SampleRun first = experiment_.run({}, 1);
  if (experiment_.keeps_results()) done_ += 1;
  task_seconds_ = first.seconds;
  spent_ = first.total_seconds;
  process_seconds_ = std::max(0.0, first.total_seconds - first.seconds);
  saving_ = double(n_) * task_seconds_ * (1 - 1.0 / workers);
  return kFewestRuns * first.total_seconds <= std::max(kMostOfSaving * saving_, budget());
}

void Sampler::measure_base() {
  const std::size_t fewest = begun_ != nullptr ? kFewestBegunTasks : kFewestBaseTasks;
  base_tasks_ = std::max(count_for({}, 1), std::min(most_tasks(), fewest));
  const SampleRun trial = run({}, base_tasks_);
  waits_ = trial.cpu_share < kSampleWaiting;
  task_seconds_ = trial.seconds / double(base_tasks_);
  learn_sizes(trial, 1);
}

double Sampler::slowdown_of(const SampleRun& trial, Shape shape) const {
  const std::size_t count = trial.task_seconds.size();
  const auto workers = static_cast<std::size_t>(shape.workers());
  const bool even = variation_ < kEven;
  if (even && count >= workers * kManyRounds) {
    return trial.seconds * double(workers) / double(count) / task_seconds_;
  }
  // Tasks whose size earlier runs have shown are compared with it; the others with the mean, unless
  // sizes vary so much that leaving them out is better.
  const bool repeats = !experiment_.keeps_results();
  double took = 0, alone = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const bool known = repeats && i < sizes_.size();
    if (!known && !even && repeats) break;
    took += trial.task_seconds[i];
    alone += known ? core::median(sizes_[i]) : task_seconds_;
  }
  return took / alone;
}

bool Sampler::measure(Shape shape, double expected_slowdown, double start, bool alike) {
  const std::size_t count = count_for(shape, expected_slowdown);
  if (left() < count) return false;
  const double expected =
      (shape.processes == 1 ? process_seconds_ : 0) + start +
      expected_slowdown * task_seconds_ * std::ceil(double(count) / shape.workers());
  if (!affords(cost_of(expected, count))) return false;
  const SampleRun trial = run(shape, count);
  const double slowdown = slowdown_of(trial, shape);
  points_.push_back({.shape = shape,
                     .slowdown = slowdown,
                     .one_round = count <= static_cast<std::size_t>(shape.workers())});
  if (alike) learn_sizes(trial, slowdown);
  return true;
}

void Sampler::learn_sizes(const SampleRun& trial, double slowdown) {
  const std::size_t first = experiment_.keeps_results() ? sizes_.size() : 0;
  const std::size_t count = std::min(trial.task_seconds.size(), kMostSizes - first);
  if (sizes_.size() < first + count) sizes_.resize(first + count);
  for (std::size_t i = 0; i < count; ++i) {
    sizes_[first + i].push_back(trial.task_seconds[i] / slowdown);
  }
  std::vector<double> sizes;
  for (const std::vector<double>& times : sizes_) sizes.push_back(core::median(times));
  if (sizes.size() > base_tasks_) task_seconds_ = core::mean(sizes);
  variation_ = sizes.size() > 1 ? core::standard_deviation(sizes) / core::mean(sizes) : 0;
  const double few = variation_ / std::sqrt(double(sizes.size()));
  const double unseen = std::max(0.0, 1 - double(sizes.size()) / double(n_));
  task_error_ = std::hypot(few * std::sqrt(unseen), kSampleNoise);
}

std::optional<double> Sampler::scatter() const {
  std::vector<double> off = differences_;
  if (off.size() < 2 && experiment_.keeps_results()) {
    return sizes_.size() < 2 * kFewestBegunTasks ? std::nullopt : std::optional(variation_);
  }
  if (off.size() < 2) {
    for (const std::vector<double>& times : sizes_) {
      for (const double seconds : times) {
        if (times.size() > 1) off.push_back(std::log(seconds / core::median(times)));
      }
    }
  }
  if (off.size() < 2) return std::nullopt;
  double squares = 0;
  for (const double one : off) squares += one * one;
  return std::sqrt(squares / double(off.size()));
}

double Sampler::start_seconds(Shape shape) {
  const double seconds = experiment_.start_seconds(shape);
  spent_ += seconds;
  return seconds;
}

bool Sampler::measured(Shape shape) const {
  return std::ranges::any_of(points_,
                             [&](const SlowdownPoint& point) { return point.shape == shape; });
}

}  // namespace tabane::team
